"""A project's memory: queries, documents, runs and judgments, in SQLite or PostgreSQL; nothing is lost."""
