-- The conformity study's simulation.db: 18 tables with its names, columns, types, keys and indexes.
CREATE TABLE runs(run_id TEXT PRIMARY KEY, seed INTEGER NOT NULL, created_at REAL NOT NULL, config_json TEXT NOT NULL);

CREATE TABLE trace(
  trace_id TEXT PRIMARY KEY, run_id TEXT NOT NULL REFERENCES runs(run_id), time_step INTEGER NOT NULL,
  agent_id TEXT NOT NULL, action_type TEXT NOT NULL, info_json TEXT NOT NULL, outcome_json TEXT NOT NULL,
  created_at REAL NOT NULL, environment_state_hash TEXT
);
CREATE INDEX idx_trace_run_step ON trace(run_id, time_step);
CREATE INDEX idx_trace_run_agent ON trace(run_id, agent_id);

CREATE TABLE messages(
  message_id TEXT PRIMARY KEY, run_id TEXT NOT NULL REFERENCES runs(run_id), time_step INTEGER NOT NULL,
  author_id TEXT NOT NULL, content TEXT NOT NULL, created_at REAL NOT NULL
);
CREATE INDEX idx_messages_run_step ON messages(run_id, time_step);
CREATE INDEX idx_messages_run_author ON messages(run_id, author_id);

CREATE TABLE activation_metadata(
  record_id TEXT PRIMARY KEY, run_id TEXT NOT NULL REFERENCES runs(run_id), time_step INTEGER NOT NULL,
  agent_id TEXT NOT NULL, model_id TEXT NOT NULL, layer_index INTEGER NOT NULL, component TEXT NOT NULL,
  token_position INTEGER NOT NULL, shard_file_path TEXT NOT NULL, tensor_key TEXT NOT NULL, shape_json TEXT NOT NULL,
  dtype TEXT NOT NULL, created_at REAL NOT NULL
);
CREATE INDEX idx_activation_run_step ON activation_metadata(run_id, time_step);
CREATE INDEX idx_activation_run_agent ON activation_metadata(run_id, agent_id);
CREATE INDEX idx_activation_run_layer ON activation_metadata(run_id, layer_index, component);

CREATE TABLE merkle_log(
  merkle_id TEXT PRIMARY KEY, run_id TEXT NOT NULL REFERENCES runs(run_id), time_step INTEGER NOT NULL,
  agent_id TEXT NOT NULL, prompt_hash TEXT NOT NULL, activation_hash TEXT NOT NULL, leaf_hash TEXT NOT NULL,
  merkle_root TEXT NOT NULL, created_at REAL NOT NULL
);
CREATE INDEX idx_merkle_run_step_agent ON merkle_log(run_id, time_step, agent_id);

CREATE TABLE conformity_datasets(
  dataset_id TEXT PRIMARY KEY, name TEXT NOT NULL, version TEXT NOT NULL, path TEXT NOT NULL, sha256 TEXT NOT NULL,
  created_at REAL NOT NULL
);
CREATE INDEX idx_conformity_datasets_name ON conformity_datasets(name, version);

CREATE TABLE conformity_items(
  item_id TEXT PRIMARY KEY, dataset_id TEXT NOT NULL REFERENCES conformity_datasets(dataset_id), domain TEXT NOT NULL,
  question TEXT NOT NULL, ground_truth_text TEXT, ground_truth_json TEXT, source_json TEXT, created_at REAL NOT NULL
);
CREATE INDEX idx_conformity_items_dataset ON conformity_items(dataset_id, domain);

CREATE TABLE conformity_conditions(
  condition_id TEXT PRIMARY KEY, name TEXT NOT NULL, params_json TEXT NOT NULL, created_at REAL NOT NULL
);
CREATE INDEX idx_conformity_conditions_name ON conformity_conditions(name);

CREATE TABLE conformity_trials(
  trial_id TEXT PRIMARY KEY, run_id TEXT NOT NULL REFERENCES runs(run_id), model_id TEXT NOT NULL,
  variant TEXT NOT NULL, item_id TEXT NOT NULL REFERENCES conformity_items(item_id),
  condition_id TEXT NOT NULL REFERENCES conformity_conditions(condition_id), seed INTEGER NOT NULL,
  temperature REAL NOT NULL, created_at REAL NOT NULL
);
CREATE INDEX idx_conformity_trials_run ON conformity_trials(run_id, variant, model_id);
CREATE INDEX idx_conformity_trials_item ON conformity_trials(item_id, condition_id);

CREATE TABLE conformity_prompts(
  prompt_id TEXT PRIMARY KEY, trial_id TEXT NOT NULL REFERENCES conformity_trials(trial_id),
  system_prompt TEXT NOT NULL, user_prompt TEXT NOT NULL, chat_history_json TEXT NOT NULL,
  rendered_prompt_hash TEXT NOT NULL, created_at REAL NOT NULL
);
CREATE INDEX idx_conformity_prompts_trial ON conformity_prompts(trial_id);

CREATE TABLE conformity_trial_steps(
  trial_id TEXT PRIMARY KEY REFERENCES conformity_trials(trial_id), time_step INTEGER NOT NULL, agent_id TEXT NOT NULL,
  created_at REAL NOT NULL
);
CREATE INDEX idx_conformity_trial_steps_step ON conformity_trial_steps(time_step, agent_id);

CREATE TABLE conformity_outputs(
  output_id TEXT PRIMARY KEY, trial_id TEXT NOT NULL REFERENCES conformity_trials(trial_id), raw_text TEXT NOT NULL,
  parsed_answer_text TEXT, parsed_answer_json TEXT, is_correct INTEGER, refusal_flag INTEGER NOT NULL, latency_ms REAL,
  token_usage_json TEXT, created_at REAL NOT NULL
);
CREATE INDEX idx_conformity_outputs_trial ON conformity_outputs(trial_id);
CREATE INDEX idx_conformity_outputs_correct ON conformity_outputs(is_correct);

CREATE TABLE conformity_probes(
  probe_id TEXT PRIMARY KEY, run_id TEXT NOT NULL REFERENCES runs(run_id), probe_kind TEXT NOT NULL,
  train_dataset_id TEXT NOT NULL REFERENCES conformity_datasets(dataset_id), model_id TEXT NOT NULL,
  layers_json TEXT NOT NULL, component TEXT NOT NULL, token_position INTEGER NOT NULL, artifact_path TEXT NOT NULL,
  metrics_json TEXT NOT NULL, created_at REAL NOT NULL
);
CREATE INDEX idx_conformity_probes_run ON conformity_probes(run_id, probe_kind, model_id);

CREATE TABLE conformity_probe_projections(
  projection_id TEXT PRIMARY KEY, trial_id TEXT NOT NULL REFERENCES conformity_trials(trial_id),
  probe_id TEXT NOT NULL REFERENCES conformity_probes(probe_id), layer_index INTEGER NOT NULL, token_index INTEGER,
  value_float REAL NOT NULL, created_at REAL NOT NULL
);
CREATE INDEX idx_conformity_projections_trial ON conformity_probe_projections(trial_id, probe_id);
CREATE INDEX idx_conformity_projections_probe ON conformity_probe_projections(probe_id, layer_index);

CREATE TABLE conformity_think_tokens(
  think_id TEXT PRIMARY KEY, trial_id TEXT NOT NULL REFERENCES conformity_trials(trial_id),
  token_index INTEGER NOT NULL, token_text TEXT NOT NULL, token_id INTEGER, created_at REAL NOT NULL
);
CREATE INDEX idx_conformity_think_tokens_trial ON conformity_think_tokens(trial_id, token_index);

CREATE TABLE conformity_logit_lens(
  logit_id TEXT PRIMARY KEY, trial_id TEXT NOT NULL REFERENCES conformity_trials(trial_id),
  layer_index INTEGER NOT NULL, token_index INTEGER NOT NULL, topk_json TEXT NOT NULL, created_at REAL NOT NULL
);
CREATE INDEX idx_conformity_logit_lens_trial ON conformity_logit_lens(trial_id, layer_index, token_index);

CREATE TABLE conformity_interventions(
  intervention_id TEXT PRIMARY KEY, run_id TEXT NOT NULL REFERENCES runs(run_id), name TEXT NOT NULL,
  alpha REAL NOT NULL, target_layers_json TEXT NOT NULL, component TEXT NOT NULL,
  vector_probe_id TEXT NOT NULL REFERENCES conformity_probes(probe_id), notes TEXT, created_at REAL NOT NULL
);
CREATE INDEX idx_conformity_interventions_run ON conformity_interventions(run_id, name);

CREATE TABLE conformity_intervention_results(
  result_id TEXT PRIMARY KEY, trial_id TEXT NOT NULL REFERENCES conformity_trials(trial_id),
  intervention_id TEXT NOT NULL REFERENCES conformity_interventions(intervention_id),
  output_id_before TEXT NOT NULL REFERENCES conformity_outputs(output_id),
  output_id_after TEXT NOT NULL REFERENCES conformity_outputs(output_id), flipped_to_truth INTEGER,
  created_at REAL NOT NULL
);
CREATE INDEX idx_conformity_intervention_results_trial ON conformity_intervention_results(trial_id, intervention_id);
