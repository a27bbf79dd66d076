"""Séance Tools: shows what every AI coding agent on the machine is doing."""

__version__ = "0.1.0"
