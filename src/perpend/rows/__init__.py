"""rows: the tables that people have (CSV, TSV, JSON, JSONL, Parquet), row by row, and which column means what."""
