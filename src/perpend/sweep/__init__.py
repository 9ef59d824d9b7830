"""A run in shards on many machines: what is submitted, what each shard's task does, and how the sweep stands.

It never asks by itself: a task is `perpend eval SPEC --shard k/N`. What is known of a sweep is one JSON file per fact
below RUN/sweep, written by rename, so no server and no lock is shared between machines.
"""
