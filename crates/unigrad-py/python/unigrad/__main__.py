"""`python -m unigrad`: the command."""

from ._command import main

main()
