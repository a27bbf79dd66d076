"""`python -m seance_tools.sidebar`."""

from seance_tools.sidebar import main

main()
