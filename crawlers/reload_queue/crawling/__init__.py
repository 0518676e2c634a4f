"""The framework: a task queue in Redis, instances of worker processes, and records in a database."""
