"""A value of one query, rank by rank, and what would raise it."""
