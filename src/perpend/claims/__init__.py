"""Claims: what a text says of runs, recomputed from raw responses; and the numbers in a text that nothing claims."""

from perpend.claims.check import Verdict, as_json, as_table, check, raise_for_failures
from perpend.claims.extract import extract
from perpend.claims.file import Claim, read_claims

__all__ = ["Claim", "Verdict", "as_json", "as_table", "check", "extract", "raise_for_failures", "read_claims"]
