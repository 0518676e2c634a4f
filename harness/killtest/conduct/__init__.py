"""A trial as it happens: the conductor, the faults to come, the site and the stage they play on."""
