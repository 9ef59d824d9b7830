"""One fact worded several times, and facts with a lure beside them."""
