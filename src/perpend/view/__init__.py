"""The page that shows a run: what was asked, what was answered, how it was scored; in one file, or live on loopback."""
