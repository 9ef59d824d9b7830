"""measure: a ledger read as columns; slice, pair and agree give Estimates; the only pairing, the only metrics.json."""
