"""audit: derive everything again from the raw responses and compare with what is stored. No model, no network."""

from perpend.proof.audit.checks import BEYOND, Audit, Check, Sample, as_table
from perpend.proof.audit.labels import Judged
from perpend.proof.audit.runner import Options, audit, audit_run, check_claims, seed_numbers

__all__ = [
    "BEYOND",
    "Audit",
    "Check",
    "Judged",
    "Options",
    "Sample",
    "as_table",
    "audit",
    "audit_run",
    "check_claims",
    "seed_numbers",
]
