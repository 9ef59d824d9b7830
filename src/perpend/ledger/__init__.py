"""ledger: run.db and the manifest of one run: its plan, its items, its responses, its scores. SQL lives here."""
