"""A look inside: what a checkpoint's layers say about the trials of a run. Importing it loads no torch."""

from perpend.inside.look import LookSettings, checkpoint_of, layers_of, look_inside
from perpend.ledger.looks import Look, looks, read_look, summary

__all__ = ["Look", "LookSettings", "checkpoint_of", "layers_of", "look_inside", "looks", "read_look", "summary"]
