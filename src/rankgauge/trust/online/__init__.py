"""Offline differences beside online ones."""
