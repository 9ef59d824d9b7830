"""Items in words: one room for each stratum."""
