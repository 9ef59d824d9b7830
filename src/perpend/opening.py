"""Opening what somebody else may have put there: plain files only, and none that a link on the way leads to.

A person may name a file by way of a link: it is his. What lies in a run or in a published folder was put there by
whoever made it, and a link there would read, print or write another file of the person who looks at it.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from perpend.errors import StoreError

_NOT_BLOCKING = getattr(os, "O_NONBLOCK", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_HOLE = 1 << 36
"""64 GB: a longer file without as much on the disk was made to keep its readers busy."""
_A_LINK = "a link; a run holds its files itself"


def plain_handle(path: str | Path, flags: int, within: Path | None = None) -> int:
    """A handle of a regular file. OSError for anything else: opening a named pipe would wait for ever.

    Nothing from the folder `within`, which somebody else filled, down to the file may be a link.
    """
    if within is not None:
        at = within
        for part in Path(path).relative_to(within).parts:
            at /= part
            if at.is_symlink():
                raise OSError(errno.EINVAL, _A_LINK, str(at))
        flags |= _NO_LINK
    handle = os.open(path, flags | _NOT_BLOCKING, 0o666)
    facts = os.fstat(handle)
    mode = facts.st_mode
    is_hole = within is not None and facts.st_size > _HOLE and getattr(facts, "st_blocks", _HOLE) * 512 < _HOLE
    if stat.S_ISREG(mode) and not is_hole:
        return handle
    os.close(handle)
    if is_hole:
        raise OSError(errno.EINVAL, f"{facts.st_size >> 30} GB of which almost nothing is on the disk", str(path))
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "a pipe or a device, not a file", str(path))


def refuse_links(folder: Path, *, deep: bool = True) -> None:
    """StoreError where anything in a folder, and with `deep` anything below it, is a link, a pipe or a device."""
    folders = [folder]
    while folders:
        at = folders.pop()
        if not at.is_dir():
            continue
        with os.scandir(at) as entries:
            for entry in sorted(entries, key=lambda one: one.name):
                if entry.is_symlink():
                    raise StoreError(f"{entry.path}: {_A_LINK}. Put what it points to in its place, or remove it.")
                if entry.is_dir():
                    folders += [Path(entry.path)] if deep else []
                elif not entry.is_file():
                    raise StoreError(f"{entry.path}: neither a file nor a folder; a run holds nothing else")
