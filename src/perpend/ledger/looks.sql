-- Only in runs with a stopping rule: what each look at the numbers showed, and whether the run stopped there.
CREATE TABLE look(
  look INTEGER PRIMARY KEY, items INTEGER NOT NULL, stop INTEGER NOT NULL CHECK(stop IN (0, 1)),
  numbers TEXT NOT NULL CHECK(json_valid(numbers))
) STRICT;

CREATE TRIGGER look_is_a_fact BEFORE UPDATE ON look
BEGIN SELECT RAISE(ABORT, 'looks are facts: append-only, never edited'); END;

CREATE TRIGGER look_stays BEFORE DELETE ON look
BEGIN SELECT RAISE(ABORT, 'looks are facts: append-only, never deleted'); END;
