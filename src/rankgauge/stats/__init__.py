"""Statistics on numbers alone: nothing here knows of runs, judgments or measures.

Everything on the default path needs numpy and `scipy.special` only: `scipy.stats` takes a second to import.
"""
