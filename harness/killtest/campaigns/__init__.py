"""Many trials: run, resumed, put on record, and told."""
