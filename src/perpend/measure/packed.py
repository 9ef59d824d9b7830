"""Columns of many rows, and many items, in little memory."""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt

from perpend.ledger.items import stored_item
from perpend.types import Item

_FIRST = np.array([0.0, 1.0, np.nan])
_ZERO, _ONE, _NONE = _FIRST.view(np.int64).tolist()
_MOST = 256
_TAKEN = 1 << 18
_MMAP_THRESHOLD = -3
_Kind = TypeVar("_Kind", bound=np.generic)


Rows: TypeAlias = slice | npt.NDArray[np.integer] | npt.NDArray[np.bool_]
FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]


class Packed:
    """One value for each row, a byte each where there are few different ones; NaN where nothing was put.

    What comes out has the bits of what was put in.
    """

    __slots__ = ("_codes", "_known", "_whole")

    def __init__(self, rows: int) -> None:
        self._codes = np.full(rows, 2, dtype=np.uint8)
        self._known: dict[int, int] = {_ZERO: 0, _ONE: 1, _NONE: 2}
        self._whole: FloatArray | None = None

    @classmethod
    def of(cls, values: FloatArray) -> Packed:
        """A whole column."""
        packed = cls(len(values))
        packed.put(slice(None), values)
        return packed

    def put(self, rows: Rows, values: FloatArray) -> None:
        """Set the values of some rows."""
        codes = None if self._whole is not None else self._coded(np.ascontiguousarray(values).view(np.int64))
        if codes is not None:
            self._codes[rows] = codes
            return
        if self._whole is None:
            self._whole, self._codes = self[:], self._codes[:0]
        self._whole[rows] = values

    def _coded(self, bits: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8] | None:
        """A code for each value by its bits, so that -0 stays -0; None where there are too many."""
        codes = np.where(bits == _ONE, np.uint8(1), np.where(bits == _NONE, np.uint8(2), np.uint8(0)))
        others = (codes == 0) & (bits != _ZERO)
        if others.any():
            new, at = np.unique(bits[others], return_inverse=True)
            if len(self._known.keys() | new.tolist()) > _MOST:
                return None
            numbers = [self._place(one) for one in new.tolist()]
            codes[others] = np.array(numbers, dtype=np.uint8)[at]
        return codes

    def values(self) -> FloatArray:
        """All values, in the order of the rows: 8 bytes each."""
        return self[:]

    def __len__(self) -> int:
        return len(self._codes if self._whole is None else self._whole)

    def __getitem__(self, rows: Rows) -> FloatArray:
        """The values of some rows."""
        return taken(self._table(), self._codes[rows]) if self._whole is None else self._whole[rows]

    def _table(self) -> FloatArray:
        """What each code stands for."""
        return np.array(list(self._known), dtype=np.int64).view(np.float64)

    def where(self, holds: Callable[[FloatArray], BoolArray]) -> BoolArray:
        """For which rows something holds that depends on the value alone."""
        return taken(holds(self._table()), self._codes) if self._whole is None else holds(self._whole)

    def missing(self) -> BoolArray:
        """The rows without a value."""
        return self.where(np.isnan)

    def equals(self, value: float) -> BoolArray:
        """The rows with this value."""
        return self.where(lambda values: values == value)

    def mapped(self, change: Callable[[FloatArray], FloatArray]) -> Packed:
        """Every value changed, by something that depends on the value alone."""
        if self._whole is not None or len(self._known) > _MOST - len(_FIRST):
            return Packed.of(change(self.values()))
        table = change(self._table())
        changed = Packed(len(self))
        places = np.array([changed._place(bits) for bits in table.view(np.int64).tolist()], dtype=np.uint8)
        changed._codes = taken(places, self._codes)
        return changed

    def filled(self, rows: BoolArray, value: float) -> Packed:
        """The same column with one value in some rows."""
        changed = Packed(0)
        changed._codes, changed._known = self._codes.copy(), dict(self._known)
        changed._whole = None if self._whole is None else self._whole.copy()
        changed.put(rows, np.full(int(np.count_nonzero(rows)), value))
        return changed

    def _place(self, bits: int) -> int:
        """The code of a value, by its bits."""
        return self._known.setdefault(bits, len(self._known))


def taken(values: npt.NDArray[_Kind], codes: npt.NDArray[np.integer]) -> npt.NDArray[_Kind]:
    """`values[codes]`, a part at a time: NumPy makes 8 bytes of each code before it takes by it."""
    if codes.ndim != 1 or len(codes) <= _TAKEN:
        few: npt.NDArray[_Kind] = values[codes]
        return few
    out = np.empty(len(codes), dtype=values.dtype)
    for start in range(0, len(codes), _TAKEN):
        out[start : start + _TAKEN] = values[codes[start : start + _TAKEN]]
    return out


def return_what_is_freed() -> None:
    """Have large arrays go back to the machine when they are freed; the GNU C library keeps those of up to 32 MB.

    What it keeps is in pieces after a while: numbers of ten million trials took 1.6 times the memory.
    """
    setting = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform.startswith("linux") else None
    if setting is not None:
        setting(_MMAP_THRESHOLD, 1 << 20)


def narrow(codes: npt.NDArray[np.integer], values: int) -> npt.NDArray[np.integer]:
    """Codes from 0 to below `values` in the fewest bytes that hold them and the number of values."""
    kind = next(kind for kind in (np.int8, np.int16, np.int32, np.int64) if values <= np.iinfo(kind).max)
    return codes.astype(kind, copy=False)


_PLAIN = 4 << 20
_BLOCK = 128
# No JSON holds it unescaped.
_BETWEEN = "\0"


class PackedItems(Sequence[Item]):
    """Items in their order. Beyond the first 4 MB of text they are kept compressed in a temporary file without a name,
    and read when they are asked for.

    Made of the lines that a ledger stores. What is read in order is decompressed once.
    """

    __slots__ = ("__weakref__", "_blocks", "_count", "_file", "_last", "_open", "_plain", "_room")

    def __init__(self, lines: Iterable[str] = ()) -> None:
        self._plain: list[Item] = []
        self._room = _PLAIN
        self._file: IO[bytes] | None = None
        self._blocks: list[tuple[int, int]] = []
        """Where each block begins in the file, and its length."""
        self._open: list[str] = []
        self._last: tuple[int, list[Item]] = (-1, [])
        self._count = 0
        for line in lines:
            self.append(line)

    def append(self, line: str) -> Item:
        """Put a stored item at the end, and say which it is. What is no item is a StoreError."""
        item = stored_item(line)
        self._count += 1
        if self._room > 0:
            self._room -= len(line)
            self._plain.append(item)
            return item
        self._open.append(line)
        if len(self._open) == _BLOCK:
            self._put(zlib.compress(_BETWEEN.join(self._open).encode(), 1))
            self._open = []
        return item

    def _put(self, block: bytes) -> None:
        if self._file is None:
            # Without a buffer: what is written can be read at once, also by other threads and forked processes.
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  it lives as long as the items
            weakref.finalize(self, self._file.close)
        begin = sum(self._blocks[-1]) if self._blocks else 0
        written = 0
        while written < len(block):
            written += self._file.write(block[written:])
        self._blocks.append((begin, len(block)))

    def _block(self, number: int) -> list[Item]:
        assert self._file is not None
        begin, length = self._blocks[number]
        lines = zlib.decompress(os.pread(self._file.fileno(), length, begin)).decode().split(_BETWEEN)
        return [stored_item(line) for line in lines]

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> Item: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Item, ...]: ...
    def __getitem__(self, place: int | slice) -> Item | tuple[Item, ...]:
        if isinstance(place, slice):
            return tuple(self[n] for n in range(*place.indices(self._count)))
        if not -self._count <= place < self._count:
            raise IndexError(f"there are {self._count} items, and none at {place}")
        place %= self._count
        if place < len(self._plain):
            return self._plain[place]
        block, within = divmod(place - len(self._plain), _BLOCK)
        if block == len(self._blocks):
            return stored_item(self._open[within])
        last = self._last
        if last[0] != block:
            last = self._last = block, self._block(block)
        return last[1][within]

    def __iter__(self) -> Iterator[Item]:
        return (self[n] for n in range(self._count))
