"""Tables and figures, derived from the ledger alone (and timelines from kept evidence)."""
