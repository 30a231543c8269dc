"""Statistics over values of queries: differences, intervals, power. Only numpy and scipy.special, which load quickly."""
