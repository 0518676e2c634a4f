"""Calls that fail instead of kills: each durable call of a recorded crawl with an error, once and from then on."""
