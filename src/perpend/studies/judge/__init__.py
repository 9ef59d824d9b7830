"""judge: what does a model say about the stored answers of another run?"""

from perpend.studies.judge.study import STUDY, task

__all__ = ["STUDY", "task"]
