"""Named results, with citations."""
