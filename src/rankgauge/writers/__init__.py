"""Judgments, Run → a file: the way back."""
