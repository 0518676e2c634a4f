"""Every crash point of a crawler: record once, derive what each kill would leave, and see what comes of it."""
