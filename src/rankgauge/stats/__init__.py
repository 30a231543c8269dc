"""Statistics over values of queries, with numpy and scipy.special alone: they load quickly, scipy.stats does not."""
