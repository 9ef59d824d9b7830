"""verbs: which verb form does a checkpoint find likeliest, how sure is it, and is it right?"""

from perpend.studies.verbs.study import STUDY, task

__all__ = ["STUDY", "task"]
