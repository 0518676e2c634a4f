"""Every request of a small site once: `killtest sweep`."""
