"""Files of the conformity study in and out: its databases, rows, items, suites and sweeps."""
