"""A stored schedule again, and how often it gives what it gave: `killtest replay`."""
