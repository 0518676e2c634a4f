"""`python -m killtest` is the command `killtest`."""

from killtest.cli import main

main()
