"""Claims: what a paper says of runs, recomputed from raw responses; and its numbers that nothing claims."""

from perpend.proof.claims.check import Verdict, as_json, as_table, check, raise_for_failures
from perpend.proof.claims.extract import extract
from perpend.proof.claims.file import Claim, read_claims, read_claims_file

__all__ = [
    "Claim", "Verdict", "as_json", "as_table", "check", "extract", "raise_for_failures", "read_claims",
    "read_claims_file",
]  # fmt: skip
