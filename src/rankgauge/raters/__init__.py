"""People who judge: tasks, hand-outs, their judgments, disputes, the ledger of judges; users, and who did what."""
