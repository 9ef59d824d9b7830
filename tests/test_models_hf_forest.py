from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perpend.models.base import common_length
from perpend.models.hf.forest import Passage, grove_of, packed, row_of

tokens = st.lists(st.integers(0, 3), min_size=1, max_size=12).map(tuple)


def spelled(row, node: int) -> tuple[int, ...]:
    """The tokens from the root of a node's tree down to it, read off the mask alone."""
    return tuple(int(row.tokens[j]) for j in range(node + 1) if node < row.ends[j])


@given(st.lists(tokens, min_size=1, max_size=8))
def test_every_read_is_reached_by_exactly_its_own_tokens(sequences: list[tuple[int, ...]]) -> None:
    passages = [Passage(sequence, 1 + len(sequence) // 3) for sequence in sequences if len(sequence) > 1]
    row = row_of(list(enumerate(passages)))
    seen: dict[int, list[tuple[tuple[int, ...], int]]] = {}
    for owner, node, token in zip(row.owners, row.reads, row.wanted, strict=True):
        seen.setdefault(int(owner), []).append((spelled(row, int(node)), int(token)))
    for number, passage in enumerate(passages):
        wanted = [(passage.tokens[:at], passage.tokens[at]) for at in range(passage.start, len(passage.tokens))]
        assert seen.get(number, []) == wanted


@given(st.lists(tokens, min_size=1, max_size=8))
def test_a_node_of_a_grove_sees_its_own_beginning_and_nothing_else(sequences: list[tuple[int, ...]]) -> None:
    passages = [Passage((*sequence, 0), 1) for sequence in sequences]
    grove = grove_of(row_of(list(enumerate(passages))))
    seen: list[list[int]] = [[] for _ in range(len(grove))]
    for first, end in pairwise(grove.runs.tolist()):
        for node in range(first, end):
            seen[node] += range(first, node + 1)
    for sweep in grove.sweeps:
        assert sweep.queries[0] == 0
        assert sweep.first + sweep.queries[-1] == len(grove)
        for (first, end), start, used in zip(pairwise(sweep.queries.tolist()), sweep.starts, sweep.used, strict=True):
            for node in range(sweep.first + first, sweep.first + end):
                seen[node] += range(start, start + used)
    for nodes in seen:
        assert sorted(grove.depths[nodes].tolist()) == list(range(len(nodes)))
    for owner, read in zip(grove.owners.tolist(), grove.reads.tolist(), strict=True):
        path = sorted(seen[read], key=lambda node: grove.depths[node])
        assert tuple(grove.tokens[path].tolist()) == passages[owner].tokens[: len(path)]


@given(st.lists(tokens, min_size=1, max_size=8))
def test_a_row_has_no_two_nodes_with_the_same_path_and_depths_count_from_the_root(sequences) -> None:
    row = row_of([(n, Passage(sequence, 1)) for n, sequence in enumerate(sequences)])
    paths = [spelled(row, node) for node in range(len(row))]
    assert sorted(paths) == sorted({sequence[:end] for sequence in sequences for end in range(1, len(sequence))})
    assert [len(path) - 1 for path in paths] == row.depths.tolist()


@given(st.lists(st.lists(tokens, min_size=1, max_size=3), max_size=8), st.integers(1, 30))
def test_packing_takes_every_group_once_and_overfills_only_for_one_group(groups, limit: int) -> None:
    made = [[Passage(sequence, 1) for sequence in group] for group in groups]
    rows = [row for _, row in packed(made, limit)]
    assert sorted(number for row in rows for number in row) == list(range(len(groups)))
    for row in rows:
        size = len(row_of([(0, passage) for number in row for passage in made[number]]))
        assert size <= limit or len(row) == 1


@given(tokens, tokens)
def test_the_common_length_is_that_of_the_longest_equal_beginning(first, second) -> None:
    shared = common_length(first, second)
    assert first[:shared] == second[:shared]
    assert shared == min(len(first), len(second)) or first[shared] != second[shared]


def test_groups_that_begin_alike_share_a_row_and_its_beginning() -> None:
    prompt = tuple(range(50))
    groups = [[Passage((*prompt, 60 + n, 70), 50)] for n in range(4)] + [[Passage(tuple(range(80, 140)), 59)]]
    rows = packed(groups, 60)
    assert [(size, sorted(row)) for size, row in rows] == [(59, [4]), (54, [0, 1, 2, 3])]
    assert len(row_of([(n, groups[n][0]) for n in rows[1][1]])) == 54


@given(st.lists(st.integers(1, 30), min_size=1, max_size=40), st.integers(30, 90))
def test_even_rows_are_no_larger_than_the_limit_and_take_every_group_once(sizes: list[int], limit: int) -> None:
    groups = [[Passage((*(100 * n + k for k in range(size)), 0), 1)] for n, size in enumerate(sizes)]
    rows = packed(groups, limit, evenly=True)
    assert sorted(number for _, row in rows for number in row) == list(range(len(sizes)))
    assert max(size for size, _ in rows) <= limit


@given(st.lists(st.integers(1, 30), min_size=1, max_size=40))
def test_rows_are_full_where_groups_share_nothing(sizes: list[int]) -> None:
    """Of two rows, the groups of both together do not fit into one, and no row has more nodes than it says."""
    groups = [[Passage((*(100 * n + k for k in range(size)), 0), 1)] for n, size in enumerate(sizes)]
    rows = packed(groups, 30)
    assert all(size == sum(sizes[number] for number in row) for size, row in rows)
    assert [size for size, _ in rows] == sorted((size for size, _ in rows), reverse=True)
    assert len(rows) == 1 or rows[-1][0] + rows[-2][0] > 30


def test_identical_and_nested_passages_cost_nothing_twice() -> None:
    row = row_of([(0, Passage((1, 2, 3, 4), 2)), (1, Passage((1, 2, 3, 4), 2)), (2, Passage((1, 2, 3), 2))])
    assert row.tokens.tolist() == [1, 2, 3]
    assert np.bincount(row.owners).tolist() == [2, 2, 1]


def test_a_first_token_cannot_be_scored() -> None:
    with pytest.raises(ValueError, match="nothing before it"):
        Passage((1, 2), 0)
