"""Scorers: one file per name, each with `VERSIONS`, a tuple of Scorer, oldest first and the default last."""
