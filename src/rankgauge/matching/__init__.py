"""Judgments + Run → Hits: order, ties, duplicates, unjudged documents, the ideal are settled here."""
