"""Getting labels: what to judge, and by whom."""
