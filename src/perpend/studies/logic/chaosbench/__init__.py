"""The chaos-logic protocol on perpend's ledger: items, freeze, samplers, run folders, publishing, the audit of runs."""
