"""spec: run.toml, flags and Python arguments become one RunSpec; names become objects."""
