"""Tables as text: CSV and TSV, with delimiter, encoding and header found out, and JSON lines."""

import codecs
import csv
import gzip
import io
import itertools
import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import pandas as pd

from ..errors import DataError
from ..utils.parallel import Progress
from .columns import MISSING_WORDS
from .table_file import CHUNK_ROWS, TableFile, chunk_rows
from .target import typed_labels

__all__ = ["DelimitedFile", "JsonLines", "open_bytes", "text_encoding"]

_LOOK = 200  # lines that delimiter and header are found from
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
# The mark of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_KNOWN = {
    b"PK\x03\x04": "a zip archive (or an Excel workbook: export it as CSV)",
    b"\x1f\x8b": "gzip: name it .gz",
    b"PAR1": "Parquet: name it .parquet",
    b"ARROW1": "Arrow: name it .feather or .arrow",
    b"\x93NUMPY": "a numpy array: name it .npy",
}
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")


def open_bytes(path: Path, progress: Progress | None = None) -> IO[bytes]:
    """The file's bytes, unpacked if its name ends in .gz; `progress` is told how many were read."""
    is_packed = path.suffix.lower() == ".gz"
    if progress is None:
        return gzip.open(path, "rb") if is_packed else open(path, "rb")  # type: ignore[return-value]
    file: Any = io.BufferedReader(_Watched(path, progress), 2**18)
    if is_packed:
        packed, file = file, gzip.GzipFile(fileobj=file)
        file.myfileobj = packed  # closed with it
    return file


class _Watched(io.FileIO):
    """A file that tells how far it was read."""

    def __init__(self, path: Path, progress: Progress) -> None:
        super().__init__(path)
        self._total, self._progress = max(1, path.stat().st_size), progress

    def readinto(self, buffer: Any) -> int:
        n_read = super().readinto(buffer)
        self._progress("reading", min(self.tell(), self._total), self._total)
        return n_read


def text_encoding(path: Path) -> str:
    """Encoding of a text file, read to its end; refuse what is no text."""
    with open_bytes(path) as file:
        head = file.read(2**16)
        for magic, what in _KNOWN.items():
            if head.startswith(magic):
                raise DataError(f"{path.name} is no text file but {what}")
        for mark, encoding in _MARKS:
            if head.startswith(mark):
                return encoding
        if b"\0" in head and (wide := _wide_encoding(head)):
            return wide
        if _CONTROL.search(head):
            raise DataError(f"{path.name} is no text file: it holds bytes that no table of text has")
        decoder = codecs.getincrementaldecoder("utf-8")()
        block = head
        try:
            while block:
                decoder.decode(block)
                block = file.read(2**22)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return _old_encoding(file)
    return "utf-8-sig" if head.startswith(codecs.BOM_UTF8) else "utf-8"


def _wide_encoding(head: bytes) -> str:
    r"""UTF-16 or UTF-32 without a mark, told by the zeros in it; empty if it is neither.

    Examples
    --------
    >>> _wide_encoding("size;Größe\n1;2\n".encode("utf-16-be")), _wide_encoding(bytes(8))
    ('utf-16-be', '')
    """
    for encoding, width in (("utf-32-le", 4), ("utf-32-be", 4), ("utf-16-le", 2), ("utf-16-be", 2)):
        try:
            text = head[: len(head) - len(head) % (2 * width)].decode(encoding)
        except UnicodeDecodeError:
            continue
        # Numbers, delimiters and line ends are ASCII in any language; read the wrong way round hardly anything is.
        is_table = 4 * sum(character.isascii() for character in text) > len(text)
        if is_table and not _CONTROL.search(text.encode("utf-8", "replace")):
            return encoding
    return ""


def _old_encoding(file: IO[bytes]) -> str:
    """Windows-1252, in which Latin-1 as it is written is contained, unless there are bytes that it lacks."""
    file.seek(0)
    while block := file.read(2**22):
        try:
            block.decode("cp1252")
        except UnicodeDecodeError:
            return "latin-1"
    return "cp1252"


class DelimitedFile(TableFile):
    r"""A CSV or TSV file, whole or in chunks of rows.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.csv")
    ...     _ = path.write_text("size;kind\n1,5;x\n2,5;y\n")
    ...     file = DelimitedFile(path)
    ...     frame = file.frame(["size"])
    >>> file.names, frame["size"].tolist()
    (('size', 'kind'), [1.5, 2.5])
    """

    def __init__(self, path: Path, *, header: bool | None = None) -> None:
        self._path = path
        self._encoding = text_encoding(path)
        with io.TextIOWrapper(open_bytes(path), encoding=self._encoding) as text:  # any line ends
            comments, head = _comments(text)
        if not head.strip():
            raise DataError(f"{path.name} is empty")
        self._delimiter, lines = _delimiter(head, path.name)
        names = _names_in_comment(comments, lines, self._delimiter) if header is not False else None
        if names is not None:
            lines, header = [names, *lines], True
        cells = [cell.strip() for cell in lines[0]]
        self.has_header = not (_is_data(cells) or _occurs_below(lines)) if header is None else header
        # Lines above the first row, which pandas is not shown if some are comments: these may hold quotes.
        self.n_above = len(comments) + (self.has_header and names is None) if comments else 0
        if self.has_header:
            self.names = tuple(cell or f"unnamed {number}" for number, cell in enumerate(cells))
        else:
            self.names = tuple(f"column {number}" for number in range(len(cells)))
            if header is None:
                self.notes += (
                    "the first line looks like data, not like names: columns are called by their position (if it has "
                    "names: header=True, --header)",
                )
        if self._encoding in ("cp1252", "latin-1"):
            name = "Windows-1252 (Latin-1)" if self._encoding == "cp1252" else "Latin-1"
            self.notes += (f"the file is not UTF-8 and was read as {name}",)
        self._decimal = _decimal(lines[1:]) if self._delimiter != "," else "."
        self._check_width(lines)

    def _check_width(self, lines: Sequence[Sequence[str]]) -> None:
        for number, line in enumerate(lines[1:], start=2 + max(0, self.n_above - 1)):
            if len(line) > len(self.names) and any(cell.strip() for cell in line[len(self.names) :]):
                raise DataError(
                    f"{self._path.name}, line {number} has {len(line)} fields, but the first line has "
                    f"{len(self.names)}: quote fields that contain {self._delimiter!r}, and name every column"
                )

    def frame(self, columns: Sequence[str], labels: Sequence[str] = ()) -> pd.DataFrame:
        """These columns with their types inferred from all rows."""
        options = {"low_memory": False, "decimal": self._decimal, **self._inference(self.names, labels)}
        with open_bytes(self._path, self.progress) as source:
            return self._with_labels(self._read(source, columns, **options), labels)

    def _with_labels(self, frame: pd.DataFrame, labels: Sequence[str]) -> pd.DataFrame:
        return frame.assign(**{name: typed_labels(frame[name], self._decimal) for name in labels})

    def chunks(
        self, columns: Sequence[str], labels: Sequence[str] = (), like: Mapping[str, Any] | None = None
    ) -> Iterator[pd.DataFrame]:
        """These columns, some rows at a time: as text, or where `like` has numbers as what each part looks like."""
        options: dict[str, Any] = {"dtype": str, "keep_default_na": False}
        if like is not None:
            options = self._inference(self.names, labels) | {"low_memory": False, "decimal": self._decimal}
            texts = [name for name, dtype in like.items() if not pd.api.types.is_numeric_dtype(dtype)]
            options["dtype"] |= dict.fromkeys(texts, str)  # 007 stays what it is
        rows = chunk_rows(len(self.names) if len(columns) > 1 else 1)
        with (
            open_bytes(self._path, self.progress) as source,
            self._read(source, columns, chunksize=rows, **options) as reader,
        ):
            parts = iter(reader)
            while True:
                with self._failures():
                    part = next(parts, None)
                if part is None:
                    return
                yield part[list(columns)]

    def settle(self, frame: pd.DataFrame, labels: Sequence[str] = ()) -> pd.DataFrame:
        """Text of some rows with types inferred as for the whole file."""
        text = frame.to_csv(index=False, header=False, lineterminator="\n", quoting=csv.QUOTE_ALL)
        read = pd.read_csv(
            io.StringIO(text),
            names=list(frame.columns),
            header=None,
            low_memory=False,
            decimal=self._decimal,
            **self._inference(frame.columns, labels),
        )
        return self._with_labels(read, labels)

    def _read(self, source: IO[bytes], columns: Sequence[str], **options: Any) -> Any:
        # With usecols pandas cuts off what is too long in a line and says nothing: only for a look at single columns.
        some = {"usecols": [self.names.index(columns[0])]} if len(columns) == 1 else {}
        text: Any = source
        if self.n_above:
            text = io.TextIOWrapper(source, encoding=self._encoding, newline="")
            for _ in range(self.n_above):
                text.readline()
        with self._failures():
            read = pd.read_csv(
                text,
                sep=self._delimiter,
                encoding=self._encoding,
                names=list(self.names),
                header=0 if self.has_header and not self.n_above else None,
                index_col=False,
                skipinitialspace=True,
                **some,
                **options,
            )
            return read[list(columns)] if isinstance(read, pd.DataFrame) else read

    def _inference(self, names: Sequence[str], labels: Sequence[str]) -> dict[str, Any]:
        """How pandas finds out types; labels are left as text, and so are columns that are stated to be."""
        missing = {name: [""] if name in labels else list(MISSING_WORDS) for name in names}
        texts = [*labels, *(name for name in self.as_text if name in names)]
        return {"na_values": missing, "keep_default_na": False, "dtype": dict.fromkeys(texts, str)}

    def _failures(self) -> Any:
        return _Failures(self._path.name)


class _Failures:
    """Turns what pandas says about a malformed file into a `DataError`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._caught = warnings.catch_warnings()

    def __enter__(self) -> None:
        self._caught.__enter__()
        warnings.simplefilter("error", pd.errors.ParserWarning)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._caught.__exit__(kind, error, trace)
        if isinstance(error, pd.errors.ParserError | pd.errors.ParserWarning | csv.Error | UnicodeError):
            said = str(error).removeprefix("Error tokenizing data. ").removeprefix("C error: ").strip()
            raise DataError(f"{self._name} is no regular table: {said}") from None


def _comments(text: IO[str]) -> tuple[list[str], str]:
    """Lines at the beginning that are comments, those that start with #, and the lines after them to look at.

    Where no line is left nothing was a comment: colours such as #ff0000 begin so.
    """
    above: list[str] = []
    for line in text:
        if line.strip() and not line.lstrip().startswith("#"):
            rest = "".join([line, *itertools.islice(text, _LOOK - 1)])
            return (above, rest) if any(line.strip() for line in above) else ([], "".join(above) + rest)
        above.append(line)
    return [], "".join(above[:_LOOK])


def _names_in_comment(comments: list[str], lines: list[list[str]], delimiter: str) -> list[str] | None:
    """Names of the columns if the last comment holds them: one for each, above a line that is data."""
    if not comments or not comments[-1].strip() or not lines:
        return None
    cells = next(csv.reader([comments[-1].strip().lstrip("#").strip()], delimiter=delimiter, skipinitialspace=True), [])
    first = [cell.strip() for cell in lines[0]]
    is_data = any(_NUMBER.fullmatch(cell) for cell in first) or _occurs_below(lines)
    return cells if len(cells) == len(first) > 1 and is_data else None


def _delimiter(head: str, name: str) -> tuple[str, list[list[str]]]:
    """The delimiter that cuts most lines into the same number of fields, and the fields."""
    best, best_score, said = (",", [[]]), (-1.0, -1), ""  # type: tuple[str, list[list[str]]], tuple[float, int], str
    for delimiter in "\t,;|" if ".tsv" in name.lower() else ",;\t|":
        longest = csv.field_size_limit(len(head) + 1)  # a setting of the whole process
        try:
            lines = [line for line in csv.reader(io.StringIO(head), delimiter=delimiter, skipinitialspace=True) if line]
        except csv.Error as error:
            said = str(error)
            continue
        finally:
            csv.field_size_limit(longest)
        if len(lines) >= _LOOK - 1:
            lines = lines[:-1]  # may be cut within quotes
        width = len(lines[0]) if lines else 0
        share = sum(len(line) == width for line in lines) / max(len(lines), 1)
        score = (share if width > 1 else 0.0, width)
        if score > best_score:
            best, best_score = (delimiter, lines), score
    if best_score < (0.0, 0):
        raise DataError(f"{name} is no regular table: {said}")
    return best


def _is_data(cells: Sequence[str]) -> bool:
    """Whether a first line can be no line of names: half of it numbers, with fractions or repeated ones."""
    numbers = [cell for cell in cells if _NUMBER.fullmatch(cell)]
    if len(numbers) < max(1, len(cells) / 2):
        return False
    return len(set(numbers)) < len(numbers) or any(not number.lstrip("+-").isdigit() for number in numbers)


def _occurs_below(lines: Sequence[Sequence[str]]) -> bool:
    """Whether half of the words in a first line are values of their columns: categories without a line of names."""
    first, *others = ([cell.strip() for cell in line] for line in lines)
    words = [number for number, cell in enumerate(first) if cell and not _NUMBER.fullmatch(cell)]
    if len(first) > 1:  # files that were put together repeat their line of names
        others = [line for line in others if line != first]
    found = [any(len(line) > number and line[number] == first[number] for line in others) for number in words]
    return bool(found) and sum(found) >= len(found) / 2


def _decimal(lines: Sequence[Sequence[str]]) -> str:
    """A comma if numbers are written 3,5 and none 3.5."""
    cells = [cell.strip() for line in lines for cell in line]
    # 5,027 may be five thousand: on such numbers alone nothing is decided, and they are refused by name later.
    commas = any(
        re.fullmatch(r"[-+]?\d+,\d+", cell) and not re.fullmatch(r"[-+]?[1-9]\d{0,2},\d{3}", cell) for cell in cells
    )
    points = any(re.fullmatch(r"[-+]?\d+\.\d+", cell) for cell in cells)
    return "," if commas and not points else "."


# --- JSON lines ----------------------------------------------------------------------------------------------


class JsonLines(TableFile):
    """One JSON object per line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._encoding = text_encoding(path)
        names: dict[str, None] = {}
        for number, record in enumerate(self._records()):
            names.update(dict.fromkeys(record))
            if number >= CHUNK_ROWS:
                break
        if not names:
            raise DataError(f"{path.name} is empty")
        self.names = tuple(names)

    def _records(self) -> Iterator[dict[str, Any]]:
        with io.TextIOWrapper(open_bytes(self._path, self.progress), encoding=self._encoding) as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                try:
                    record = json.loads(line, object_pairs_hook=_make_record)
                except (ValueError, RecursionError) as error:
                    raise DataError(f"{self._path.name}, line {number} is no JSON object: {error}") from None
                if not isinstance(record, dict):
                    raise DataError(f"{self._path.name}, line {number} is no JSON object but {line.strip()[:40]!r}")
                yield record

    def frame(self, columns: Sequence[str], labels: Sequence[str] = ()) -> pd.DataFrame:
        return pd.concat(self.chunks(columns, labels), ignore_index=True)

    def chunks(
        self, columns: Sequence[str], labels: Sequence[str] = (), like: Mapping[str, Any] | None = None
    ) -> Iterator[pd.DataFrame]:
        values: dict[str, list[Any]] = {column: [] for column in columns}
        held = 0
        for record in self._records():
            for column, cells in values.items():
                cells.append(record.get(column))
            held += 1
            if held == chunk_rows(len(values)):
                yield _frame(values, labels)
                values, held = {column: [] for column in columns}, 0
        if held:
            yield _frame(values, labels)


def _frame(values: dict[str, list[Any]], labels: Sequence[str]) -> pd.DataFrame:
    """Labels as they are: a missing one would turn whole numbers into rounded ones."""
    return pd.DataFrame(
        {name: pd.Series(cells, dtype=object) if name in labels else cells for name, cells in values.items()}
    )


def _make_record(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} occurs twice in it")
    return record
