"""A look inside: what a checkpoint's layers say about the trials of a run. Importing it loads no torch."""

from perpend.inside.folder import Look, looks, read_look, summary
from perpend.inside.look import Settings, checkpoint_of, layers_of, look_inside

__all__ = ["Look", "Settings", "checkpoint_of", "layers_of", "look_inside", "looks", "read_look", "summary"]
