"""Queries out of a log: which to measure, and what a mean over them says of all searches."""
