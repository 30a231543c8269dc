"""What unjudged documents leave open: `extremes` has the method."""
