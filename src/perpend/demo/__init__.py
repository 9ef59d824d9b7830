"""demo: three studies on one model, published, audited, and told on one page."""

from perpend.demo.studies import EMBEDDED, SIMULATED, Size
from perpend.demo.whole import Made, make_demo

__all__ = ["EMBEDDED", "SIMULATED", "Made", "Size", "make_demo"]
