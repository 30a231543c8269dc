"""SVG by hand."""
