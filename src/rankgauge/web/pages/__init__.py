"""The pages: each is a function from what is served and an address to a `View`."""
