"""The process side of a trial: the warden, what it starts and whom it signals."""
