"""A suite of data sets × systems → Leaderboard."""
