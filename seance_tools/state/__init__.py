"""The broker's state, pure: time and caller come in as a `Context`; no I/O.

`tables` holds the rows, `calls` finds the function that does a method, the others do them.
"""
