"""The shop that killtest serves to the crawlers under test."""
