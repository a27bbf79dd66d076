"""`python -m seance_tools.broker`."""

from seance_tools.broker import main

main()
