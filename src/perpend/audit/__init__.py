"""audit: derive everything again from the raw responses and compare with what is stored. No model, no network."""

from perpend.audit.checks import Audit, Check, Sample, as_table
from perpend.audit.claimed import check_claims
from perpend.audit.labels import Judged
from perpend.audit.whole import Options, audit, audit_run

__all__ = ["Audit", "Check", "Judged", "Options", "Sample", "as_table", "audit", "audit_run", "check_claims"]
