"""importers: logs of other harnesses become a ledger."""
