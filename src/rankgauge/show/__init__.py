"""Results → people and programs: one model of what is shown, and its renderings."""
