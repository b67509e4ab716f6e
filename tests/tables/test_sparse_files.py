"""Files of sparse rows: matrices of scipy, svmlight; damaged ones are named."""

import gzip

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from bayesfloor import DataError, DataTypeError, ParameterError, read_table
from bayesfloor.tables.sparse_files import has_sparse_rows


@pytest.fixture
def saved(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = sparse.csr_array(rng.integers(1, 5, (60, 150)) * (rng.random((60, 150)) < 0.1) * 1.0)
    sparse.save_npz(tmp_path / "a.npz", X)
    np.save(tmp_path / "y.npy", y)
    dump_svmlight_file(X, y, str(tmp_path / "a.svm"), zero_based=False)
    return tmp_path, X, y


def columns_of(table) -> np.ndarray:
    return table.sparse.sections[0].matrix.toarray()


def varying(X) -> np.ndarray:
    dense = X.toarray()
    return dense[:, (dense != dense[0]).any(axis=0)]


def test_a_matrix_of_scipy_with_labels_beside_it(saved) -> None:
    folder, X, y = saved
    table = read_table(folder / "a.npz", target=str(folder / "y.npy"))
    np.testing.assert_array_equal(columns_of(table), varying(X))
    np.testing.assert_array_equal(table.y, y)
    (folder / "y.txt").write_text("\n".join(f"class {label}" for label in y), encoding="utf-8")
    assert set(read_table(folder / "a.npz", target=str(folder / "y.txt")).y) == {"class 0", "class 1"}
    for kind in ("csr", "csc", "coo"):
        other = X.asformat(kind)
        names = ("row", "col") if kind == "coo" else ("indices", "indptr")
        parts = {name: getattr(other, name) for name in names}
        np.savez(folder / "b.npz", data=other.data, shape=X.shape, format=kind, y=y, **parts)
        table = read_table(folder / "b.npz")
        np.testing.assert_array_equal(columns_of(table), varying(X))
        assert table.target == "y"


@pytest.mark.parametrize("ending", [".svm", ".svmlight", ".libsvm", ".svm.gz"])
def test_svmlight(saved, ending: str) -> None:
    folder, X, y = saved
    content = (folder / "a.svm").read_bytes()
    path = folder / f"b{ending}"
    path.write_bytes(gzip.compress(content) if ending.endswith(".gz") else content)
    table = read_table(path)
    np.testing.assert_allclose(columns_of(table), varying(X))
    np.testing.assert_array_equal(table.y, y)


def test_remarks_qid_and_signs_of_svmlight(tmp_path) -> None:
    lines = ["# a remark", ""] + [f"{'+1' if i % 2 else '-1'} qid:{i // 2} 1:0.5 {i + 2}:1 # {i}" for i in range(120)]
    (tmp_path / "a.svm").write_text("\n".join(lines), encoding="utf-8")
    table = read_table(tmp_path / "a.svm", groups="qid")
    assert sorted(set(table.y.tolist())) == [-1, 1]
    assert table.groups.max() == 59
    assert read_table(tmp_path / "a.svm", max_rows=50).sparse.shape[0] == 50


def test_few_columns_are_a_table(tmp_path) -> None:
    (tmp_path / "a.svm").write_text("\n".join(f"{i % 2} 1:{i} 3:2" for i in range(40)), encoding="utf-8")
    table = read_table(tmp_path / "a.svm")
    assert table.sparse is None
    assert table.X.shape == (40, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 1:2\n0 3\n", "line 2 '3' is no column:value"),
        ("1 1:2\n1:2 3:4\n", "line 2 it starts with '1:2', not with a label"),
        ("1,2 1:2\n", "several labels"),
        ("1 a:2\n", "'a:2' is no column:value"),
        ("1 -4:2\n", "no column -4"),
        ("1 99999999999999999999:2\n", "too large"),
        ("1 1:2\n0 1:nan 2:3\n1 1:1\n0 2:1\n", "NaN"),
        ("# nothing\n", "no rows"),
        ("1 qid:1 1:2\n0 1:2\n", "1 of 2 rows have no qid"),
        ("1 1:2\n1 2:1\n", "only one class"),
        ("", "is empty"),
    ],
)
def test_lines_that_are_wrong_are_named(tmp_path, text: str, message: str) -> None:
    import bayesfloor as bf

    (tmp_path / "a.svm").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        bf.estimate(tmp_path / "a.svm")


def test_files_larger_than_memory_are_refused_however_packed(tmp_path, monkeypatch) -> None:
    lines = "".join(f"{i % 2} 1:1\n" for i in range(10_000)).encode()
    packed = gzip.compress(lines)
    assert len(packed) < 1000
    (tmp_path / "a.svm").write_bytes(lines)
    (tmp_path / "a.svm.gz").write_bytes(packed)
    (tmp_path / "b.svm.gz").write_bytes(gzip.compress(lines.replace(b"\n", b" ")))  # one line of all of it
    monkeypatch.setattr("bayesfloor.tables.sparse_files.free_memory", lambda: 20_000)
    for name in ("a.svm", "a.svm.gz", "b.svm.gz"):
        with pytest.raises(DataError, match="larger than memory"):
            read_table(tmp_path / name)


def test_parts_of_the_wrong_type_are_refused(saved) -> None:
    folder, X, y = saved
    coo = X.tocoo()
    good = {"data": coo.data, "row": coo.row, "col": coo.col, "shape": X.shape, "format": "coo", "y": y}
    for wrong, message in (
        ({"col": coo.col.astype(float)}, "col holds values of type float64"),
        ({"row": coo.row[:, None]}, "row has 2 dimensions"),
        ({"row": coo.row[:-1]}, "differ in length"),
        ({"data": coo.data.astype(str)}, "convert it to numbers"),
        ({"shape": (60.5, 150.0)}, "rows and columns are needed"),
        ({"shape": (60, 150, 1)}, "rows and columns are needed"),
        ({"shape": (60, -150)}, "rows and columns are needed"),
        ({"shape": np.array([60, 2**64 - 1], dtype=np.uint64)}, r"between 0 and 2\*\*63"),
        ({"shape": (60, 0), "data": [], "row": [], "col": []}, "no columns"),
    ):
        np.savez(folder / "g.npz", **{**good, **wrong})
        with pytest.raises((DataError, DataTypeError), match=message):
            read_table(folder / "g.npz")


def test_damaged_and_incomplete_files(saved) -> None:
    folder, X, y = saved
    whole = (folder / "a.npz").read_bytes()
    with pytest.raises(ParameterError, match="no labels beside its sparse rows"):
        read_table(folder / "a.npz")
    with pytest.raises(ParameterError, match="leave out drop, keep and dtypes"):
        read_table(folder / "a.svm", drop=["column 1"])
    (folder / "c.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"c.npz"):
        read_table(folder / "c.npz", target=str(folder / "y.npy"))
    (folder / "c.svm.gz").write_bytes(gzip.compress((folder / "a.svm").read_bytes())[:-30])
    with pytest.raises(DataError, match=r"c.svm.gz is damaged"):
        read_table(folder / "c.svm.gz")
    np.savez(folder / "d.npz", data=X.data, indices=X.indices + 500, indptr=X.indptr, shape=X.shape, format="csr", y=y)
    with pytest.raises(DataError, match="indices below 0 or above 149"):
        read_table(folder / "d.npz")
    np.savez(folder / "e.npz", data=X.data, indices=X.indices, shape=X.shape, format="csr", y=y)
    with pytest.raises(DataError, match="without indptr"):
        read_table(folder / "e.npz")
    np.savez(folder / "f.npz", data=X.data, shape=X.shape, format="dia", offsets=[0], y=y)
    with pytest.raises(DataError, match="format 'dia'"):
        read_table(folder / "f.npz")
    assert not has_sparse_rows(folder / "y.npy")
    assert not has_sparse_rows(folder / "nothing.npz")


def test_an_archive_of_an_unknown_version_is_refused(tmp_path) -> None:
    path = tmp_path / "future.npz"
    np.savez(path, X=np.zeros((3, 2)), y=np.zeros(3))
    content = bytearray(path.read_bytes())
    content[content.rindex(b"PK\x01\x02") + 6] = 109  # the version that is needed to extract the last array
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"future\.npz"):
        read_table(path, target="y")


def test_empty_rows_of_few_columns_are_not_made_dense(tmp_path) -> None:
    """A file of kilobytes may claim millions of rows: memory goes by what they hold."""
    n = 400_000
    pointers = np.ones(n + 1, dtype=np.int8)
    pointers[0] = 0
    path = tmp_path / "empty.npz"
    parts = {"data": np.ones(1), "indices": np.array([99]), "indptr": pointers, "y": (np.arange(n) % 2).astype(np.int8)}
    np.savez_compressed(path, format="csr", shape=np.array([n, 100]), **parts)
    table = read_table(path, target="y")
    assert table.sparse is not None
    assert table.X.nbytes < 8 * n
