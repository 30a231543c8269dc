"""A run and a baseline → PASS, FAIL or INCONCLUSIVE."""
