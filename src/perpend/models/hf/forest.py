"""Token sequences → trees, several trees to a row: what sequences share at their beginning is there once.

A row lists its nodes in depth-first order, so 'j is an ancestor of i, or i itself' is j ≤ i < end[j]: the attention
mask needs one number per node, and trees that are side by side in a row do not see each other. A grove is the same
nodes in another order, for attention that takes stretches of nodes instead of a mask.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from perpend.models.base import common_length

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Passage:
    """A token sequence of which the tokens from `start` on are scored, each given all tokens before it.

    Its last token is only ever read, so `stem`, all but that one, is what a model has to compute.
    """

    tokens: tuple[int, ...]
    start: int

    def __post_init__(self) -> None:
        if not 1 <= self.start <= len(self.tokens):
            raise ValueError(f"start {self.start} of {len(self.tokens)} tokens; a first token has nothing before it")

    @property
    def stem(self) -> tuple[int, ...]:
        """What the model is run on."""
        return self.tokens[:-1]


@dataclass(frozen=True, slots=True)
class Row:
    """Nodes in depth-first order. Read k scores token `wanted[k]` after node `reads[k]`, for passage `owners[k]`."""

    tokens: IntArray
    depths: IntArray
    ends: IntArray
    reads: IntArray
    wanted: IntArray
    owners: IntArray
    runs: IntArray
    """Where each run begins: nodes that follow each other without a node of another run in between."""
    above: IntArray
    """The node that each run hangs on; -1 for a run that begins a tree."""

    def __len__(self) -> int:
        return len(self.tokens)


def row_of(passages: Sequence[tuple[int, Passage]]) -> Row:
    """One row of the passages, each with its number. Equal beginnings become one path, equal passages one leaf."""
    nodes: list[int] = []
    depths: list[int] = []
    ends: list[int] = []
    path: list[int] = []
    before: tuple[int, ...] = ()
    reads: list[int] = []
    wanted: list[int] = []
    owners: list[int] = []
    runs: list[int] = []
    above: list[int] = []
    for owner, passage in sorted(passages, key=lambda entry: entry[1].stem):
        tokens = passage.stem
        shared = common_length(before, tokens)
        for node in path[shared:]:
            ends[node] = len(nodes)
        added = range(len(nodes), len(nodes) + len(tokens) - shared)
        if added:
            runs.append(len(nodes))
            above.append(path[shared - 1] if shared else -1)
        nodes += tokens[shared:]
        depths += range(shared, len(tokens))
        ends += [0] * len(added)
        path[shared:] = added
        reads += path[passage.start - 1 :]
        wanted += passage.tokens[passage.start :]
        owners += [owner] * (len(passage.tokens) - passage.start)
        before = tokens
    for node in path:
        ends[node] = len(nodes)
    parts = (nodes, depths, ends, reads, wanted, owners, runs, above)
    return Row(*(np.array(values, dtype=np.int64) for values in parts))


@dataclass(frozen=True, slots=True)
class Ancestry:
    """The nodes from `first` on in stretches, and for each stretch a stretch of nodes that all of it sees."""

    first: int
    queries: IntArray
    """Where each stretch begins, counted from `first`, and where the last one ends."""
    starts: IntArray
    """Where the nodes begin that it sees."""
    used: IntArray
    """How many they are."""


@dataclass(frozen=True, slots=True)
class Grove:
    """Nodes in the order of their runs, those that begin a tree first, then those that hang on one of these, and so on.

    A node sees its own run up to itself and, in one sweep for each level above it, the upper part of another run.
    `reads`, `wanted` and `owners` are as in a row.
    """

    tokens: IntArray
    depths: IntArray
    reads: IntArray
    wanted: IntArray
    owners: IntArray
    runs: IntArray
    """Where each run begins, and where the last one ends."""
    sweeps: tuple[Ancestry, ...]

    def __len__(self) -> int:
        return len(self.tokens)


def grove_of(row: Row) -> Grove:
    """The nodes of a row as a grove."""
    count = len(row.runs)
    lengths = np.diff(np.append(row.runs, len(row)))
    run_of = np.repeat(np.arange(count), lengths)
    parents = np.where(row.above >= 0, run_of[row.above], -1)
    used = np.where(parents >= 0, row.above - row.runs[parents] + 1, 0)
    levels = np.zeros(count, dtype=np.int64)
    for run, parent in enumerate(parents.tolist()):  # a run stands after the one that it hangs on
        levels[run] = levels[parent] + 1 if parent >= 0 else 0
    order = np.argsort(levels, kind="stable")
    bounds = np.append(0, np.cumsum(lengths[order]))
    begins = np.empty(count, dtype=np.int64)
    begins[order] = bounds[:-1]
    moved = np.repeat(begins - row.runs, lengths) + np.arange(len(row))
    tokens, depths = np.empty_like(row.tokens), np.empty_like(row.depths)
    tokens[moved], depths[moved] = row.tokens, row.depths
    sweeps = []
    seen, share = parents, used
    for level in range(1, int(levels.max(initial=0)) + 1):
        runs = order[levels[order] >= level]
        starts, counts = begins[seen[runs]], share[runs]
        # Runs that hang on one node see the same: they are one stretch.
        is_new = np.append(True, (np.diff(starts) != 0) | (np.diff(counts) != 0))
        queries = np.append(begins[runs][is_new], len(row)) - begins[runs[0]]
        sweeps.append(Ancestry(int(begins[runs[0]]), queries, starts[is_new], counts[is_new]))
        seen, share = np.where(seen >= 0, parents[seen], -1), np.where(seen >= 0, used[seen], 0)
    return Grove(tokens, depths, moved[row.reads], row.wanted, row.owners, bounds, tuple(sweeps))


def packed(groups: Sequence[Sequence[Passage]], limit: int, *, evenly: bool = False) -> list[tuple[int, list[int]]]:
    """Groups that go into one row: how many nodes it has at the most, and their numbers; the largest row first.

    Rows are few and full, of at most `limit` nodes, and groups that begin alike go together. A group, such as the
    candidates of one item, is never split; one that is larger than `limit` gets a row for itself. `evenly`: rows of
    about the same size, where otherwise all but the last would be full.
    """
    clusters = sorted(_clusters(groups, limit), reverse=True)
    if evenly and clusters:
        total = sum(size for size, _ in clusters)
        # One in a hundred more than even: groups do not add up to it exactly.
        limit = min(limit, 1 + math.ceil(1.01 * total / math.ceil(total / limit)))
    room: list[tuple[int, int]] = []  # of each row, sorted: nodes that are free, its number
    rows: list[list[int]] = []
    sizes: list[int] = []
    # The largest first, each where it leaves the least room.
    for size, cluster in clusters:
        at = bisect_left(room, (size, 0))
        free, row = room.pop(at) if at < len(room) else (limit, len(rows))
        if row == len(rows):
            rows.append([])
            sizes.append(0)
        rows[row] += cluster
        sizes[row] += size
        insort(room, (free - size, row))
    return sorted(zip(sizes, rows, strict=True), reverse=True)


def _clusters(groups: Sequence[Sequence[Passage]], limit: int) -> Iterator[tuple[int, list[int]]]:
    """Groups that share at least half of their nodes with the one before in the alphabet, up to `limit` nodes."""
    stems = [sorted(passage.stem for passage in group) for group in groups]
    cluster: list[int] = []
    used = 0
    before: tuple[int, ...] = ()
    for number in sorted(range(len(groups)), key=lambda number: stems[number][0]):
        size = _size(stems[number])
        shared = common_length(before, stems[number][0])
        if cluster and (2 * shared < size or used + size - shared > limit):
            yield used, cluster
            cluster, used = [], 0
        used += size - shared if cluster else size
        cluster.append(number)
        before = stems[number][0]
    if cluster:
        yield used, cluster


def _size(stems: Sequence[tuple[int, ...]]) -> int:
    """Nodes of sequences in the order of the alphabet."""
    return len(stems[0]) + sum(len(stem) - common_length(before, stem) for before, stem in pairwise(stems))
