"""The gate: a campaign judged against a budget and a baseline, for a CI server to read (docs/gate.md)."""
