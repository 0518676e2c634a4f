"""Seeing and parking the calls with which a subject changes its files (Linux, seccomp user notification)."""
