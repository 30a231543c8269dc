"""What is wrong or odd in the files, and what it does to the score."""
