"""The factual base of the chaos-logic benchmark: systems, instances, measured facts, rules. See README.md here."""
