"""How far to believe a value: unjudged documents, judgments, judges, people and models, online metrics."""
