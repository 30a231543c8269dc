"""Everything about some runs → one page."""
