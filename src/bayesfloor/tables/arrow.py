"""Parquet, Feather and Arrow, through pyarrow, which is optional."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import DataError
from .table_file import TableFile, chunk_rows

__all__ = ["arrow_bytes", "arrow_rows", "open_feather", "open_parquet"]


class ArrowFile(TableFile):
    """Parquet, Feather or an Arrow stream, by record batches; `batches` starts from the beginning each time."""

    def __init__(self, schema: Any, batches: Callable[[Sequence[str]], Iterator[Any]], name: str) -> None:
        self.names = tuple(schema.names)
        self._batches, self._name, self._schema = batches, name, schema
        self.categories = tuple(field.name for field in schema if _is_dictionary(field.type))

    def frame(self, columns: Sequence[str], labels: Sequence[str] = ()) -> pd.DataFrame:
        parts = list(self.chunks(columns))
        if not parts:
            return pd.DataFrame({column: [] for column in columns})
        return pd.concat(parts, ignore_index=True)

    def chunks(
        self, columns: Sequence[str], labels: Sequence[str] = (), like: Mapping[str, Any] | None = None
    ) -> Iterator[pd.DataFrame]:
        import pyarrow as pa

        for column in columns:
            kind = self._schema.field(column).type
            if pa.types.is_nested(kind):
                raise DataError(f"column {column!r} of {self._name} holds {kind}: give each value a column of its own")
        for batch in _at_most(chunk_rows(len(columns)), self._batches(columns)):
            # Of the metadata nothing is needed, and damaged ones are parsed even where they are to be ignored.
            table = pa.Table.from_batches([batch]).select(list(columns)).replace_schema_metadata(None)
            # Whole numbers stay whole where some are missing, and text is declared to be text.
            types = {pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype()}
            types |= {pa.string(): pd.StringDtype(), pa.large_string(): pd.StringDtype()}
            yield self._plain(table).to_pandas(date_as_object=False, ignore_metadata=True, types_mapper=types.get)

    def _plain(self, table: Any) -> Any:
        """Decimals as float64, and dictionaries unpacked: each batch may have its own."""
        import pyarrow as pa

        for i, field in enumerate(table.schema):
            kind = field.type
            if pa.types.is_decimal(kind):
                table = table.set_column(i, field.name, table.column(i).cast(pa.float64()))
            elif _is_dictionary(kind):
                table = table.set_column(i, field.name, table.column(i).cast(kind.value_type))
        return table


def _is_dictionary(kind: Any) -> bool:
    """Whether a type is that of categories."""
    import pyarrow as pa

    return bool(pa.types.is_dictionary(kind))


def _at_most(rows: int, batches: Iterator[Any]) -> Iterator[Any]:
    """Batches of so many rows at most: in an Arrow file one may be the whole table.

    Readers take offsets, lengths and dictionary indices from the file as they are: unless they are checked before
    anything is cut or converted, a damaged one reads memory that is not the file's.
    """
    for batch in batches:
        batch.validate(full=True)
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)


def open_parquet(path: Path) -> TableFile:
    """Columns of a Parquet file."""
    _pyarrow(path)
    file = _parquet(path)
    return ArrowFile(
        file.schema_arrow,
        lambda columns: file.iter_batches(batch_size=chunk_rows(len(columns)), columns=list(columns)),
        path.name,
    )


def _parquet(path: Path) -> Any:
    import pyarrow.parquet as parquet

    return parquet.ParquetFile(path)


def open_feather(path: Path) -> TableFile:
    """Columns of a Feather file, an Arrow file or an Arrow stream."""
    pa = _pyarrow(path)

    def batches(columns: Sequence[str]) -> Iterator[Any]:
        # Only these columns are unpacked.
        options = pa.ipc.IpcReadOptions(included_fields=[schema.get_field_index(column) for column in columns])
        if is_file:
            opened = pa.ipc.open_file(pa.memory_map(str(path)), options=options)
            return (opened.get_batch(i) for i in range(opened.num_record_batches))
        return iter(pa.ipc.open_stream(pa.memory_map(str(path)), options=options))

    is_file = _is_arrow_file(path)
    reader = pa.ipc.open_file if is_file else pa.ipc.open_stream
    schema = reader(pa.memory_map(str(path))).schema
    return ArrowFile(schema, batches, path.name)


def _is_arrow_file(path: Path) -> bool:
    """Whether it is the file format, which Feather is too, and not a stream."""
    with open(path, "rb") as file:
        return file.read(6) == b"ARROW1"


def _pyarrow(path: Path) -> Any:
    try:
        import pyarrow
    except ImportError:
        raise DataError(f"reading {path.name} needs pyarrow: pip install 'bayesfloor[parquet]'") from None
    return pyarrow


def arrow_bytes(path: Path, suffix: str) -> int:
    """Memory that reading the file will take, from what it says about itself."""
    if suffix in (".parquet", ".pq"):
        try:
            import pyarrow.parquet as parquet

            about = parquet.read_metadata(path)
            return int(about.num_rows * about.num_columns * 8 * 3)
        except Exception:  # what is wrong with the file is said when it is read
            return 0
    return path.stat().st_size * 4


def arrow_rows(path: Path) -> int | None:
    """Rows of a Parquet, Feather or Arrow file, from what it says about itself; None for a stream."""
    _pyarrow(path)
    if path.suffix.lower() in (".parquet", ".pq"):
        return int(_parquet(path).metadata.num_rows)
    if not _is_arrow_file(path):
        return None
    import pyarrow.dataset as dataset

    return int(dataset.dataset(path, format="ipc").count_rows())
