"""What the order of equal scores leaves open: the smallest, expected and largest value."""
