"""What judgments hold, and how far values can be trusted."""
