-- Where an import is collected before it becomes a run: on disk, so that memory does not grow with the source.
CREATE TABLE item(item INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, dataset INTEGER NOT NULL, facts TEXT NOT NULL, place TEXT NOT NULL);
CREATE TABLE trial(
  trial INTEGER PRIMARY KEY, source TEXT NOT NULL UNIQUE, item INTEGER NOT NULL, condition INTEGER NOT NULL,
  model INTEGER NOT NULL, sampling INTEGER NOT NULL, repeat INTEGER, place TEXT NOT NULL
);
CREATE TABLE output(
  trial INTEGER NOT NULL, turn INTEGER NOT NULL, attempt INTEGER NOT NULL, request BLOB NOT NULL, text TEXT, error TEXT, logprobs TEXT,
  finish TEXT, usage TEXT, ms REAL, at REAL NOT NULL, PRIMARY KEY(trial, turn, attempt)
) WITHOUT ROWID;
CREATE TABLE label(
  name TEXT NOT NULL, trial INTEGER NOT NULL, value REAL, answer TEXT, reason TEXT NOT NULL, PRIMARY KEY(name, trial)
) WITHOUT ROWID;
CREATE TABLE plan(
  number INTEGER PRIMARY KEY, trial INTEGER NOT NULL UNIQUE, item INTEGER NOT NULL, condition INTEGER NOT NULL,
  model INTEGER NOT NULL, sampling INTEGER NOT NULL, repeat INTEGER NOT NULL
);
