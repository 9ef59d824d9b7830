"""Which disks a run's ledger can be kept on, and how: a local one, a shared one with locks, one without.

SQLite's write-ahead log needs memory that all its processes share, which no network file system gives to two machines.
There a ledger has a rollback journal instead, and one process at a time. Where not even locks hold, nothing is written.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_MOUNTS = Path("/proc/self/mountinfo")
_SHARED = frozenset({
    "nfs", "nfs3", "nfs4", "lustre", "lustre_lite", "gpfs", "mmfs", "cifs", "smb", "smb2", "smb3", "smbfs",
    "beegfs", "beegfs_nodev", "fhgfs", "ceph", "afs", "afpfs", "auristorfs", "9p", "virtiofs", "vboxsf", "prl_fs",
    "vmhgfs", "panfs", "pvfs2", "orangefs", "wekafs", "glusterfs", "ocfs2", "gfs2", "acfs", "coda", "ncpfs",
    "webdav", "davfs", "ftp", "macfuse", "osxfuse",
})  # fmt: skip
_LOCAL_FUSE = frozenset({
    "ntfs", "ntfs-3g", "exfat", "mergerfs", "bindfs", "encfs", "gocryptfs", "cryfs", "fuse-overlayfs", "unionfs",
    "squashfuse", "snapfuse", "lxcfs", "portal", "fuse-ext2", "apfs-fuse", "zfs-fuse",
})  # fmt: skip
_LOCKS_OF_ONE_MACHINE = ("nolock", "local_lock=all", "local_lock=posix", "localflock", "nobrl", "forcenobrl")
"""Options of a mount whose locks other machines do not see."""
_WITHOUT_LOCKS = frozenset({
    "fuse.sshfs", "fuse.s3fs", "fuse.rclone", "fuse.gcsfuse", "fuse.goofys", "fuse.mount-s3", "fuse.curlftpfs",
})  # fmt: skip
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL, errno.EPROTONOSUPPORT}
_LOCAL_FLAG, _FLAGS_AT, _NAME_AT, _NAME_LENGTH = 0x1000, 64, 72, 16
"""MNT_LOCAL, and where macOS's struct statfs has its flags and its type's name."""


@dataclass(frozen=True, slots=True)
class SharedDisk:
    """A network file system: its kind, such as 'nfs4', and whether a lock there holds for every machine."""

    kind: str
    has_locks: bool = True


def shared_disk(path: Path) -> SharedDisk | None:
    """The network file system that a path, which need not exist yet, is on; None for a disk of this machine.

    What cannot be found out counts as a disk of this machine.
    """
    place = path.resolve()
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        if sys.platform == "darwin":
            return _of_macos(place)
        return of_mounts(_MOUNTS.read_text(encoding="utf-8", errors="replace"), place)
    except (OSError, AttributeError):
        return None


def of_mounts(table: str, place: Path) -> SharedDisk | None:
    """The same, by the text of /proc/self/mountinfo: the last mount on the longest path that leads to the place."""
    longest, kind, options = -1, "", ""
    for line in table.splitlines():
        before, dash, after = line.partition(" - ")
        fields, rest = before.split(" "), after.split(" ")
        if not dash or len(fields) < 6 or not rest[0]:
            continue
        mount = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[4])
        if len(mount) >= longest and place.is_relative_to(mount):
            longest, kind, options = len(mount), rest[0], ",".join((fields[5], *rest[2:]))
    return _named(kind, options)


def _named(kind: str, options: str = "") -> SharedDisk | None:
    base, _, driver = kind.partition(".")
    is_shared = kind in _SHARED or (base == "fuse" and bool(driver) and driver not in _LOCAL_FUSE)
    if not is_shared:
        return None
    given = options.split(",")
    return SharedDisk(kind, kind not in _WITHOUT_LOCKS and not any(one in given for one in _LOCKS_OF_ONE_MACHINE))


def _of_macos(place: Path) -> SharedDisk | None:
    """By statfs: the flag MNT_LOCAL and the name of the type."""
    libc = ctypes.CDLL(None, use_errno=True)
    statfs = getattr(libc, "statfs$INODE64", None) or libc.statfs
    facts = ctypes.create_string_buffer(1 << 12)
    if statfs(os.fsencode(place), facts):
        return None
    name = facts.raw[_NAME_AT : _NAME_AT + _NAME_LENGTH].partition(b"\0")[0].decode("ascii", "replace")
    flags = int.from_bytes(facts.raw[_FLAGS_AT : _FLAGS_AT + 4], sys.byteorder)
    return _named(name) or (None if flags & _LOCAL_FLAG else SharedDisk(name))


def locks_work(folder: Path, *, may_write: bool = False) -> bool:
    """Whether files in a folder can be locked at all, tried with the manifest of a run, which nobody locks.

    Where there is none, it is tried with a new file if `may_write`; otherwise the answer is yes.
    """
    if sys.platform == "win32" or not (may_write or (folder / "manifest.json").is_file()):
        return True
    with suppress(PermissionError, FileNotFoundError, NotADirectoryError):
        manifest = folder / "manifest.json"
        handle, name = (
            (os.open(manifest, os.O_RDONLY), None)
            if manifest.is_file()
            else tempfile.mkstemp(".perpend-tmp", ".locks-", folder)
        )
        try:
            fcntl.lockf(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            return error.errno not in _NO_LOCKS
        finally:
            os.close(handle)
            if name is not None:
                Path(name).unlink(missing_ok=True)
    return True


def without_locks(folder: Path, kind: str = "") -> str:
    """What to say of a folder on a disk whose locks do not hold, and what to do."""
    where = "a disk without locks"
    if kind:
        where = f"a network file system ({kind}) whose locks do not hold for other machines"
    return (
        f"{folder}: on {where}, so that two processes could spoil the run; nothing was written. Ask on a local disk "
        "(--out, or --shard K/N --scratch DIR) and move the finished folder here, or mount this disk with locks."
    )
