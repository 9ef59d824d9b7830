"""Rules about text, with no Item and no Response: the seeds' own (`seed`), and what a careful reader does (the rest)."""
