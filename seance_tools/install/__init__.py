"""Installs the agents' hooks: what each of them loads so that it reports to us."""
