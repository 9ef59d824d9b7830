-- run.db: the plan (intent), the responses (facts, append-only) and the scores (derived).
-- A trial's key is its position in the plan; digests are columns.

CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

CREATE TABLE dataset(
  dataset INTEGER PRIMARY KEY, name TEXT NOT NULL, version TEXT NOT NULL, path TEXT NOT NULL, sha256 TEXT NOT NULL
) STRICT;

CREATE TABLE item(
  item INTEGER PRIMARY KEY, dataset INTEGER NOT NULL REFERENCES dataset, id TEXT NOT NULL UNIQUE,
  body TEXT NOT NULL CHECK(json_valid(body))
) STRICT;

CREATE TABLE condition(condition INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, params TEXT NOT NULL) STRICT;

CREATE TABLE model(model INTEGER PRIMARY KEY, name TEXT NOT NULL, label TEXT NOT NULL UNIQUE, options TEXT NOT NULL) STRICT;

CREATE TABLE sampling(sampling INTEGER PRIMARY KEY, params TEXT NOT NULL UNIQUE) STRICT;

CREATE TABLE trial(
  trial INTEGER PRIMARY KEY, item INTEGER NOT NULL REFERENCES item, condition INTEGER NOT NULL REFERENCES condition,
  model INTEGER NOT NULL REFERENCES model, sampling INTEGER NOT NULL REFERENCES sampling, repeat INTEGER NOT NULL,
  UNIQUE(item, condition, model, sampling, repeat)
) STRICT;

CREATE TABLE response(
  trial INTEGER NOT NULL REFERENCES trial, turn INTEGER NOT NULL, attempt INTEGER NOT NULL,
  request_sha256 BLOB NOT NULL, text TEXT, error TEXT, logprobs TEXT, finish TEXT, usage TEXT, ms REAL, at REAL NOT NULL,
  PRIMARY KEY(trial, turn, attempt), CHECK((text IS NULL) = (error IS NOT NULL))
) STRICT;

-- Failures are few: with this, 'which trials still lack an answer' reads no response row.
CREATE INDEX failure ON response(trial, turn) WHERE error IS NOT NULL;

CREATE TABLE scorer(
  scorer INTEGER PRIMARY KEY, name TEXT NOT NULL, version TEXT NOT NULL, UNIQUE(name, version)
) STRICT;

CREATE TABLE score(
  scorer INTEGER NOT NULL REFERENCES scorer, trial INTEGER NOT NULL REFERENCES trial,
  value REAL, answer TEXT, reason TEXT NOT NULL, span TEXT, PRIMARY KEY(scorer, trial)
) STRICT, WITHOUT ROWID;

-- What each look at the numbers showed, and whether the run stopped there; empty without a stopping rule.
CREATE TABLE look(
  look INTEGER PRIMARY KEY, items INTEGER NOT NULL, stop INTEGER NOT NULL CHECK(stop IN (0, 1)),
  numbers TEXT NOT NULL CHECK(json_valid(numbers))
) STRICT;

CREATE TRIGGER look_is_a_fact BEFORE UPDATE ON look
BEGIN SELECT RAISE(ABORT, 'looks are facts: append-only, never edited'); END;

CREATE TRIGGER look_stays BEFORE DELETE ON look
BEGIN SELECT RAISE(ABORT, 'looks are facts: append-only, never deleted'); END;

CREATE TRIGGER response_is_a_fact BEFORE UPDATE ON response
BEGIN SELECT RAISE(ABORT, 'responses are facts: append-only, never edited'); END;

CREATE TRIGGER response_stays BEFORE DELETE ON response
BEGIN SELECT RAISE(ABORT, 'responses are facts: append-only, never deleted'); END;

-- The last turn that was answered, and in it the first answer: later attempts never replace an earlier answer.
CREATE VIEW answer AS
SELECT r.* FROM response r
WHERE r.text IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM response o WHERE o.trial = r.trial AND o.text IS NOT NULL
    AND (o.turn > r.turn OR (o.turn = r.turn AND o.attempt < r.attempt)));

-- The tables of the conformity study's simulation.db, so that its own queries run unchanged.
CREATE VIEW conformity_datasets AS
SELECT CAST(dataset AS TEXT) AS dataset_id, name, version, path, sha256,
  (SELECT CAST(value AS REAL) FROM meta WHERE key = 'created') AS created_at
FROM dataset;

CREATE VIEW conformity_items AS
SELECT id AS item_id, CAST(dataset AS TEXT) AS dataset_id,
  coalesce(json_extract(body, '$.tags.domain'), json_extract(body, '$.tags.topic'), 'general') AS domain,
  json_extract(body, '$.prompt') AS question, json_extract(body, '$.target') AS ground_truth_text,
  NULL AS ground_truth_json,
  json_set(coalesce(json_extract(body, '$.tags'), '{}'), '$.wrong_answer', json_extract(body, '$.decoy')) AS source_json,
  (SELECT CAST(value AS REAL) FROM meta WHERE key = 'created') AS created_at
FROM item;

CREATE VIEW conformity_conditions AS
SELECT CAST(condition AS TEXT) AS condition_id, name, params AS params_json,
  (SELECT CAST(value AS REAL) FROM meta WHERE key = 'created') AS created_at
FROM condition;

CREATE VIEW conformity_trials AS
SELECT CAST(t.trial AS TEXT) AS trial_id, (SELECT value FROM meta WHERE key = 'run') AS run_id, m.name AS model_id,
  m.label AS variant, i.id AS item_id, CAST(t.condition AS TEXT) AS condition_id,
  json_extract(s.params, '$.seed') AS seed, json_extract(s.params, '$.temperature') AS temperature,
  (SELECT CAST(value AS REAL) FROM meta WHERE key = 'created') AS created_at
FROM trial t JOIN model m USING (model) JOIN item i USING (item) JOIN sampling s USING (sampling);

-- What the templates of our own conditions say; {other1} … of a diverse group are left as they stand in the template.
CREATE VIEW conformity_prompts AS
WITH said AS (
  SELECT t.trial, c.params, json_extract(i.body, '$.prompt') AS prompt, coalesce(json_extract(i.body, '$.decoy'), '') AS decoy,
    coalesce(json_extract(i.body, '$.target'), 'I see it differently') AS target,
    coalesce((SELECT group_concat(char(10) || char(65 + key) || ') ' || value, '') FROM json_each(i.body, '$.choices')), '')
      AS choices
  FROM trial t JOIN condition c USING (condition) JOIN item i USING (item))
SELECT CAST(trial AS TEXT) AS prompt_id, CAST(trial AS TEXT) AS trial_id,
  replace(replace(replace(coalesce(json_extract(params, '$.system'), ''), '{decoy}', decoy), '{target}', target),
    '{question}', prompt || choices) AS system_prompt,
  replace(replace(replace(json_extract(params, '$.user'), '{decoy}', decoy), '{target}', target),
    '{question}', prompt || choices) AS user_prompt,
  '[]' AS chat_history_json,
  (SELECT lower(hex(request_sha256)) FROM response r WHERE r.trial = said.trial AND r.turn = 0 LIMIT 1)
    AS rendered_prompt_hash,
  (SELECT CAST(value AS REAL) FROM meta WHERE key = 'created') AS created_at
FROM said;

-- Labels are those of the seed's own rules (version 1), as its audit expects, or those that an imported run brought.
-- `parsed_answer_text` is the part of the raw text that they were read from.
CREATE VIEW conformity_outputs AS
SELECT CAST(a.trial AS TEXT) AS output_id, CAST(a.trial AS TEXT) AS trial_id, a.text AS raw_text,
  coalesce(p.answer, substr(a.text, json_extract(y.span, '$[0]') + 1,
    json_extract(y.span, '$[1]') - json_extract(y.span, '$[0]')), a.text) AS parsed_answer_text,
  NULL AS parsed_answer_json,
  CAST(CASE WHEN y.trial IS NULL THEN s.value ELSE y.value END AS INTEGER) AS is_correct,
  CAST(coalesce(f.value, g.value, 0) AS INTEGER) AS refusal_flag,
  a.ms AS latency_ms, a.usage AS token_usage_json, a.at AS created_at
FROM answer a
LEFT JOIN score y ON y.trial = a.trial
  AND y.scorer = (SELECT scorer FROM scorer WHERE name = 'correct' AND version = '1')
LEFT JOIN score f ON f.trial = a.trial
  AND f.scorer = (SELECT scorer FROM scorer WHERE name = 'refused' AND version = '1')
LEFT JOIN score p ON p.trial = a.trial
  AND p.scorer = (SELECT scorer FROM scorer WHERE name = 'stored_parsed' AND version = 'import')
LEFT JOIN score s ON s.trial = a.trial
  AND s.scorer = (SELECT scorer FROM scorer WHERE name = 'stored_correct' AND version = 'import')
LEFT JOIN score g ON g.trial = a.trial
  AND g.scorer = (SELECT scorer FROM scorer WHERE name = 'stored_refused' AND version = 'import');
