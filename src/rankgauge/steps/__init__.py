"""The loop: from queries to a report, step by step, each done once."""
