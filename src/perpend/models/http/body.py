"""The body of a reply, read within a share of memory: a packed, endless or huge one is an error and fills nothing."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from perpend.models.http.reply import BadReplyError

if TYPE_CHECKING:
    import aiohttp

LONGEST = 16 << 20
"""Bytes of one body, unpacked: more than any model says."""
_TOGETHER = 32 << 20
_SMALL = 1 << 18
# How zlib is told to expect a gzip header or zlib's own.
_GZIP, _ZLIB = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS


class Bodies:
    """Reads the bodies of all requests in flight. The large ones together take no more than 32 MiB.

    `reading` bytes belong to bodies that are being read, `waiting` to answers that nobody has taken yet.
    """

    def __init__(self) -> None:
        self.reading = self.waiting = 0

    async def read(self, reply: aiohttp.ClientResponse) -> bytes:
        """The whole body, unpacked. BadReplyError where it is too long or packed in a way that was not asked for."""
        packing = reply.headers.get("Content-Encoding", "").strip().lower()
        if reply.content_length is not None and reply.content_length <= _SMALL and not packing:
            return await reply.read()
        # `async with` drops a connection that is left with an unread rest; `read` above sees to that itself.
        async with reply:
            return await self._pieces(reply, _unpacker(packing))

    async def _pieces(self, reply: aiohttp.ClientResponse, unpack: zlib._Decompress | None) -> bytes:
        pieces: list[bytes] = []
        size = 0
        try:
            async for packed in reply.content.iter_any():
                piece = packed if unpack is None else _unpacked(unpack, packed, LONGEST + 1 - size)
                pieces.append(piece)
                size += len(piece)
                self.reading += len(piece)
                if size > LONGEST:
                    raise BadReplyError(f"the reply is longer than {LONGEST >> 20} MiB")
                if self.reading + self.waiting > _TOGETHER:
                    raise BadReplyError(f"the replies in flight are longer than {_TOGETHER >> 20} MiB together")
        finally:
            self.reading -= size
        if unpack is not None and not unpack.eof:
            raise BadReplyError("the packed reply ended before its end")
        self.waiting += size
        return b"".join(pieces)


def _unpacker(packing: str) -> zlib._Decompress | None:
    if packing in {"", "identity"}:
        return None
    if packing not in {"gzip", "x-gzip", "deflate"}:
        raise BadReplyError(f"the reply is packed by {packing[:20]!r}, which was not asked for")
    return zlib.decompressobj(_ZLIB if packing == "deflate" else _GZIP)


def _unpacked(unpack: zlib._Decompress, packed: bytes, most: int) -> bytes:
    """At most `most` bytes: one block of 64 kB may hold 64 MB of zeros."""
    try:
        return unpack.decompress(packed, most)
    except zlib.error:
        raise BadReplyError("the reply cannot be unpacked") from None
