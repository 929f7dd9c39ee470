"""The evil web: what hostile and broken servers do, as tables with the outcome of each case."""
