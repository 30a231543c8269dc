"""A pilot or a deviation → how many queries."""
