"""The trial table as a folder of Parquet files, one folder for each value of some keys, as DuckDB, Spark and polars
read it. Written in parts and by one process: memory does not grow with the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from perpend.disk import temporary_folder, writing
from perpend.errors import SpecError, StoreError, did_you_mean
from perpend.measure.run import Run
from perpend.report.export import TrialRow, arrow_schema, columns, rows

if TYPE_CHECKING:
    import pyarrow as pa

KEYS = ("model", "condition", "temperature", "max_tokens", "seed", "top_p", "repeat")
"""What a table can be parted by: every trial has one value of each, or none of seed and top_p."""
_CHUNK = 2000
_GROUP, _FILE = 5000, 500_000


def export_parts(
    run: Run,
    out: Path,
    *,
    by: Sequence[str] = ("model",),
    where: Mapping[str, str] | None = None,
    only: Sequence[str] = (),
) -> int:
    """Write the trial table below the new folder `out` as Parquet, and return its number of rows.

    A file is out/model=NAME/part-0.parquet, in plan order; characters of a name that a path cannot hold are written as
    %XX. A key is in the folders' names and not in the files. The folder is written whole or not at all.
    """
    try:
        import pyarrow as pa
        from pyarrow import dataset
    except ImportError:
        raise SpecError("Parquet needs one more package: pip install 'perpend[parquet]'") from None
    for key in by:
        if key not in KEYS:
            raise SpecError(f"a table cannot be parted by {key!r}; {did_you_mean(key, KEYS)}")
    if len(set(by)) < len(by):
        raise SpecError(f"a table is parted by a key once; {', '.join(by)} names one twice")
    if out.exists():
        raise StoreError(f"{out} exists already; give another name or remove it")
    chosen = columns(run, [*only, *(key for key in by if only and key not in only)])
    schema = arrow_schema(chosen)
    count = 0

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal count
        left: Iterator[TrialRow] = rows(run, where)
        while chunk := list(islice(left, _CHUNK)):
            arrays = [pa.array([c.read(row) for row in chunk], type=schema.field(c.name).type) for c in chosen]
            count += len(chunk)
            yield pa.record_batch(arrays, schema=schema)

    keys = dataset.partitioning(pa.schema([schema.field(key) for key in by]), flavor="hive")
    with writing(out), temporary_folder("export", out.parent) as tmpdir:
        dataset.write_dataset(
            batches(),
            tmpdir / "table",
            schema=schema,
            format="parquet",
            partitioning=keys,
            basename_template="part-{i}.parquet",
            file_options=dataset.ParquetFileFormat().make_write_options(compression="zstd"),
            use_threads=False,  # rows in plan order
            max_partitions=100_000,
            min_rows_per_group=_GROUP,
            max_rows_per_group=_GROUP,
            max_rows_per_file=_FILE,
        )
        (tmpdir / "table").mkdir(exist_ok=True)
        (tmpdir / "table").replace(out)
    return count
