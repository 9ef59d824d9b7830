"""What every provider over HTTP shares. A provider imports `HttpModel` and `Link`, and reads replies with `reply`."""

from perpend.models.http.exchange import HttpModel
from perpend.models.http.link import Link
from perpend.models.http.reply import BadReplyError

__all__ = ["BadReplyError", "HttpModel", "Link"]
