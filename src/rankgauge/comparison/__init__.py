"""Which system is better: pairs, families, verdicts; the gate, the plan, the leaderboard."""
