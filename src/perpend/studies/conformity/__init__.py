"""conformity: does a model leave the right answer when others claim a wrong one?"""

from perpend.studies.conformity.study import STUDY, task

__all__ = ["STUDY", "task"]
