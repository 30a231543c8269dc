"""Candidates + rerankings → Funnel: what each stage reached and lost."""
