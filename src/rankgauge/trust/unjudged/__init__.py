"""What unjudged documents leave open: `bounds` has the method."""
