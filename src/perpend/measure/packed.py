"""Columns of many rows in little memory: a byte for each row where there are few different values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_FIRST = np.array([0.0, 1.0, np.nan])
_ZERO, _ONE, _NONE = _FIRST.view(np.int64).tolist()
_MOST = 256


class Packed:
    """One value for each row; NaN where nothing was put. What comes out has the bits of what was put in."""

    __slots__ = ("_codes", "_known", "_whole")

    def __init__(self, rows: int) -> None:
        self._codes = np.full(rows, 2, dtype=np.uint8)
        self._known: dict[int, int] = {_ZERO: 0, _ONE: 1, _NONE: 2}
        self._whole: npt.NDArray[np.float64] | None = None

    @classmethod
    def of(cls, values: npt.NDArray[np.float64]) -> Packed:
        """A whole column."""
        packed = cls(len(values))
        packed.put(slice(None), values)
        return packed

    def put(self, rows: slice | npt.NDArray[np.integer], values: npt.NDArray[np.float64]) -> None:
        """Set the values of some rows."""
        codes = None if self._whole is not None else self._coded(np.ascontiguousarray(values).view(np.int64))
        if codes is not None:
            self._codes[rows] = codes
            return
        if self._whole is None:
            self._whole, self._codes = self.values(), self._codes[:0]
        self._whole[rows] = values

    def _coded(self, bits: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8] | None:
        """A code for each value by its bits, so that -0 stays -0; None where there are too many."""
        codes = np.where(bits == _ONE, np.uint8(1), np.where(bits == _NONE, np.uint8(2), np.uint8(0)))
        others = (codes == 0) & (bits != _ZERO)
        if others.any():
            new, at = np.unique(bits[others], return_inverse=True)
            if len(self._known.keys() | new.tolist()) > _MOST:
                return None
            numbers = [self._known.setdefault(one, len(self._known)) for one in new.tolist()]
            codes[others] = np.array(numbers, dtype=np.uint8)[at]
        return codes

    def values(self) -> npt.NDArray[np.float64]:
        """All values, in the order of the rows."""
        if self._whole is not None:
            return self._whole
        return np.array(list(self._known), dtype=np.int64).view(np.float64)[self._codes]


def narrow(codes: npt.NDArray[np.integer], values: int) -> npt.NDArray[np.integer]:
    """Codes from 0 to below `values` in the fewest bytes that hold them and the number of values."""
    kind = next(kind for kind in (np.int8, np.int16, np.int32, np.int64) if values <= np.iinfo(kind).max)
    return codes.astype(kind, copy=False)
