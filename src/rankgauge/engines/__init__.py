"""Other engines that hold the rows: each hands blocks of whole queries to `match`, and Hits come back."""
