"""What each kind of result shows, as values of the model."""
