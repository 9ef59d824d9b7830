"""demo: three studies on one model, published, audited, and reported on one page."""

from perpend.demo.runner import DemoOutcome, make_demo
from perpend.demo.studies import EMBEDDED, SIMULATED, Size

__all__ = ["EMBEDDED", "SIMULATED", "DemoOutcome", "Size", "make_demo"]
