"""How well judges agree, and what the choice of judge does to systems."""
