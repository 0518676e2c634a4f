"""To the fewest faults and the simplest triggers that still give the same findings: `killtest shrink`."""
