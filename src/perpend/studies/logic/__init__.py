"""logic: yes-or-no questions about dynamical systems, and the frozen benchmark of them."""

from perpend.studies.logic.design import task
from perpend.studies.logic.study import STUDY

__all__ = ["STUDY", "task"]
