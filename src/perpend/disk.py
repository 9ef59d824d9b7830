"""Files and folders that are whole or not there; and what a disk refuses, in plain words.

A process that is killed cannot remove its temporary files, so the next one that writes in the same place does. It
must never take anything else: the name says that perpend made it on this machine, and a lock that ends with its
process says that nobody is using it.
"""

from __future__ import annotations

import errno
import hashlib
import itertools
import os
import platform
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from perpend.errors import DiskError, StoreError

if sys.platform != "win32":  # where nothing is locked, and left-overs stay where they are
    import fcntl

_ENDING = ".perpend-tmp"
FULL = {errno.ENOSPC, errno.EDQUOT}
_REFUSED = (
    (FULL, "the disk is full ({}). Free some space, then run the same command again."),
    ({errno.EFBIG}, "longer than a file may be here ({}). Raise the limit (ulimit -f) or use another disk."),
    (
        {errno.EACCES, errno.EPERM, errno.EROFS},
        "cannot be read or written ({}). Check the permissions, or choose another folder.",
    ),
    (
        {errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ENOTEMPTY},
        "something else is in its place ({}). Move it away, or choose another name.",
    ),
    ({errno.ELOOP}, "a link that leads back to itself ({}). Give the path of the file or folder itself."),
)


_UNREADABLE = {
    errno.EISDIR: "a folder, where a file is expected",
    errno.EACCES: "you have no permission; check it with ls -l",
    errno.ELOOP: "a link that leads back to itself",
    errno.ENAMETOOLONG: "the name is too long",
}


def unreadable(error: OSError) -> str:
    """Why a file cannot be read, in plain words."""
    return _UNREADABLE.get(error.errno or 0) or error.strerror or str(error)


def refusal(path: Path, error: OSError) -> str:
    """What the file system refused, where, and what to do now."""
    reason = error.strerror or str(error)
    if error.errno == errno.ENAMETOOLONG:
        longest = max(path.parts or ("",), key=len)
        return f"{longest[:80]}…: the name is too long for this disk. Choose a shorter one."
    for numbers, advice in _REFUSED:
        if error.errno in numbers:
            return f"{path}: {advice.format(reason)}"
    return f"{path}: {reason}. Check the path, its permissions and the disk."


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the file system refuses into a DiskError that says what to do."""
    try:
        yield
    except OSError as error:
        raise DiskError(refusal(path, error)) from error


def make_folder(path: Path) -> list[Path]:
    """Make a folder and those above it; those that were not there, the last one first.

    Python's own way takes a level of its stack for each of theirs.
    """
    missing = list(itertools.takewhile(lambda folder: not folder.exists(), (path, *path.parents)))
    for folder in reversed(missing):
        folder.mkdir(exist_ok=True)
    if not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    return missing


def _unmake(folders: list[Path]) -> None:
    """Remove folders that were made for what then failed, as far as they are empty."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file to write beside `path`, which takes its place when the block ends, and is gone when the block fails."""
    with writing(path):
        if path.exists() and not path.is_file():  # renaming a file over a device would remove the device
            raise StoreError(f"{path}: not a file, so nothing was written to it. Give the name of a file.")
        folders = make_folder(path.parent)
        prefix = f".{path.name[:50]}"
        _sweep(path.parent, prefix)
        handle, temporary = _file(path.parent, prefix)
        try:
            yield temporary
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            temporary.chmod(0o644)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            _unmake(folders)
            raise
        finally:
            _release(handle)


@contextmanager
def temporary_folder(kind: str, parent: Path | None = None) -> Iterator[Path]:
    """A folder below `parent`, or where the system keeps temporary files, that is gone after the block."""
    place, prefix = (parent, f".{kind}") if parent is not None else (_system(), f"perpend-{kind}")
    with writing(place):
        folders = make_folder(place)
        _sweep(place, prefix)
        handle, folder = _folder(place, prefix)
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        _unmake(folders)
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _release(handle)


def _system() -> Path:
    with writing(Path("TMPDIR")):
        return Path(tempfile.gettempdir())


CACHE = "PERPEND_CACHE"
"""The environment variable that names the folder of files which can be made again."""


def caches() -> list[Path]:
    """Where files may be kept that can be made again: as set, else the user's cache, then the system's."""
    chosen = os.environ.get(CACHE)
    if chosen:
        return [Path(chosen)]
    temporary = Path(tempfile.gettempdir()) / "perpend"
    try:
        return [Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "perpend", temporary]
    except RuntimeError:  # this user has no home
        return [temporary]


def this_machine() -> str:
    """A mark by which this machine is known again; not its name, which nothing that is written may hold."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def _named(prefix: str) -> str:
    """The name's beginning. Locks of two machines on one network disk may not know of each other, hence the machine."""
    return f"{prefix}-{this_machine()}-"


def _file(place: Path, prefix: str) -> tuple[int | None, Path]:
    while True:
        handle, name = tempfile.mkstemp(_ENDING, _named(prefix), place)
        if _is_locked(handle, Path(name)):
            return handle, Path(name)
        os.close(handle)
        if sys.platform == "win32":
            return None, Path(name)


def _folder(place: Path, prefix: str) -> tuple[int | None, Path]:
    while True:
        folder = Path(tempfile.mkdtemp(_ENDING, _named(prefix), place))
        if sys.platform == "win32":
            return None, folder
        with suppress(FileNotFoundError):
            handle = os.open(folder, os.O_RDONLY)
            if _is_locked(handle, folder):
                return handle, folder
            os.close(handle)


def _is_locked(handle: int, path: Path) -> bool:
    """Lock what was just made. False where another process, sweeping, took it for a left-over before that."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a disk without locks: nobody sweeps there either
        return True
    return _is_at(handle, path)


def _release(handle: int | None) -> None:
    if handle is not None:
        os.close(handle)


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.lstat())
    except FileNotFoundError:
        return False


def _sweep(place: Path, prefix: str) -> None:
    """Remove what killed processes left of this kind. What cannot be removed stays."""
    ours = re.compile(re.escape(_named(prefix)) + r"[a-z0-9_]{8}" + re.escape(_ENDING))
    with suppress(OSError):
        for path in [path for path in place.iterdir() if ours.fullmatch(path.name)]:
            with suppress(OSError):
                _remove(path)


def _remove(path: Path) -> None:
    """Remove one left-over: a file or a folder of this user, not a link, whose lock is free."""
    if sys.platform == "win32":
        return
    facts = path.lstat()
    is_folder = stat.S_ISDIR(facts.st_mode)
    if facts.st_uid != os.geteuid() or not (is_folder or (stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1)):
        return
    handle = os.open(path, (os.O_RDONLY if is_folder else os.O_RDWR) | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_at(handle, path):
            shutil.rmtree(path) if is_folder else path.unlink()
    finally:
        os.close(handle)
