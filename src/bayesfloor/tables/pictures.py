"""Pictures from a folder with one sub-folder for each class, or from arrays in a file; Pillow, which is optional."""

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._text import printed
from ..errors import DataError, ParameterError
from ..rows.pictures import LARGEST_SIDE, SMALLEST_SIDE, check_pictures, reduce_pictures
from ..utils.checks import brief, check_callable, check_flag, check_whole, listed
from ..utils.parallel import Progress
from .open import free_memory, open_arrays, path_of

__all__ = ["Pictures", "has_pictures", "read_pictures"]

_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm", ".pbm")
_GREY = ("1", "L", "LA", "I", "F")  # and 16-bit modes, which begin with I;16
_SIXTEEN = 257.0  # 16-bit values in units of 8-bit ones


@dataclass(frozen=True, eq=False, repr=False)
class Pictures:
    """Pictures of one size, and their labels: what `estimate` takes.

    Attributes
    ----------
    images : ndarray of shape (N, H, W, channels)
    y : ndarray of shape (N,)
        Names of the sub-folders.
    name : str
        Of the folder or file.
    files : tuple of str
        Each picture's, in the folder; empty for arrays.
    notes : tuple of str

    Examples
    --------
    >>> Pictures(np.zeros((2, 8, 8, 1), dtype=np.uint8), np.array(["cat", "dog"]), "made up")
    Pictures('made up': 2 pictures of 8 x 8 pixels, 2 classes)
    """

    images: NDArray[Any]
    y: NDArray[Any]
    name: str
    files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    columns = ()  # a table would list its own
    groups = None

    @property
    def n_file_rows(self) -> int:
        """Pictures."""
        return len(self.images)

    @property
    def rows(self) -> NDArray[np.int64]:
        """Their numbers, from 1."""
        return np.arange(1, len(self.images) + 1)

    @property
    def index(self) -> Any:
        """Names of the files as an index of pandas; None for arrays."""
        import pandas as pd

        return pd.Index(self.files, dtype=object) if self.files else None

    def __repr__(self) -> str:
        n, height, width, _ = self.images.shape
        return f"Pictures({self.name!r}: {n:,} pictures of {height} x {width} pixels, {len(np.unique(self.y))} classes)"

    def __str__(self) -> str:
        n, height, width, channels = self.images.shape
        classes, counts = np.unique(self.y, return_counts=True)
        shares = listed([f"{name} {count:,}" for name, count in zip(classes.tolist(), counts.tolist(), strict=True)])
        colours = "in colour" if channels == 3 else "in grey"
        lines = [f"{self.name}: {n:,} pictures of {height} x {width} pixels, {colours}", f"classes: {shares}"]
        return printed([*lines, *(f"- note: {note}" for note in self.notes)])


def has_pictures(path: Path) -> bool:
    """Whether this is a folder with pictures in its sub-folders."""
    if not path.is_dir():
        return False
    return any(
        Path(name).suffix.lower() in _SUFFIXES
        for place, _, names in os.walk(path)
        if Path(place) != path
        for name in names
    )


def read_pictures(
    source: str | Path, *, size: int | None = None, skip_bad: bool = False, progress: Progress | None = None
) -> Pictures:
    """Read pictures and their labels.

    Parameters
    ----------
    source : str or Path
        Folder with one sub-folder of pictures for each class, at any depth; or an NPZ file with arrays X, the
        pictures, and y. Files of pictures need Pillow (the extra ``images``).
    size : int, optional
        Make pictures of a folder this many pixels wide and high; needed where they differ in size. More than 64 pixels
        on a side are made less in any case.
    skip_bad : bool
        Leave out files that cannot be read, and say so, instead of refusing them.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Returns
    -------
    Pictures

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> X = np.random.default_rng(0).integers(0, 256, (6, 8, 8)).astype(np.uint8)
    >>> np.savez(folder / "tiny.npz", X=X, y=["cat", "dog"] * 3)
    >>> print(read_pictures(folder / "tiny.npz"))
    tiny.npz: 6 pictures of 8 x 8 pixels, in grey
    classes: cat 3, dog 3
    """
    path = path_of(source)
    check_flag("skip_bad", skip_bad)
    check_callable("progress", progress)
    if size is not None:
        size = check_whole("size", size, SMALLEST_SIDE, LARGEST_SIDE)
    if not path.exists():
        raise DataError(f"there is no folder or file {path}")
    if not path.is_dir():
        return _from_arrays(path, size)
    if find_spec("PIL") is None:
        raise ParameterError("reading pictures needs Pillow: pip install 'bayesfloor[images]', or pip install pillow")
    return _from_folder(path, size, skip_bad, progress)


def _from_arrays(path: Path, size: int | None) -> Pictures:
    if path.suffix.lower() != ".npz":
        raise DataError(f"{path.name} is no folder of pictures, and no NPZ file with arrays X and y")
    if size is not None:
        raise ParameterError("size is for files of pictures: arrays have their size already")
    arrays = open_arrays(path)
    if "X" not in arrays or "y" not in arrays:
        raise DataError(f"{path.name} holds {listed(list(arrays)) or 'nothing'}: pictures need the arrays X and y")
    images, notes = check_pictures(arrays["X"])
    y = arrays["y"].reshape(-1)
    if len(y) != len(images):
        raise DataError(f"{path.name}: X has {len(images)} pictures but y has shape {arrays['y'].shape}")
    return Pictures(images, y, path.name, (), notes)


# --- folders ------------------------------------------------------------------------------------------------


def _from_folder(folder: Path, size: int | None, skip_bad: bool, progress: Progress | None) -> Pictures:
    found = _find(folder)
    bad: dict[str, str] = {}
    remarks: dict[str, int] = {}
    images: list[NDArray[Any]] = []
    kept: list[Path] = []
    room = free_memory() // 3
    with _bombs_are_errors():
        for done, file in enumerate(found.files):
            if progress is not None and done % 50 == 0:
                progress("reading pictures", done, len(found.files))
            name = file.relative_to(folder).as_posix()
            try:
                image, remark = _read(file, folder, size)
            except Exception as error:  # Pillow raises all sorts of things on damaged files
                bad[name] = _reason(error)
                continue
            if not images and image.nbytes * len(found.files) > room:
                raise DataError(
                    f"{len(found.files):,} pictures of {image.shape[0]} x {image.shape[1]} pixels do not fit into "
                    "memory: make them smaller with size (--size 32)"
                )
            for text in remark:
                remarks[text] = remarks.get(text, 0) + 1
            images.append(image)
            kept.append(file)
    if bad and not skip_bad:
        first, reason = next(iter(bad.items()))
        raise DataError(
            f"{len(bad)} of {len(found.files)} pictures in {folder.name} cannot be used; the first is {first}: "
            f"{reason}. Mend or remove them, or leave them out with skip_bad=True (--skip-bad)"
        )
    notes = [f"{count} of {len(found.files)} {text}" for text, count in remarks.items()]
    if bad:
        named = listed([f"{name} ({reason})" for name, reason in bad.items()])
        notes.append(f"{len(bad)} of {len(found.files)} pictures were left out, because they cannot be used: {named}")
    if found.n_others:
        notes.append(f"{found.n_others} files that are no pictures were left out")
    y = np.array([file.relative_to(folder).parts[0] for file in kept])
    names = tuple(file.relative_to(folder).as_posix() for file in kept)
    stacked, more = _stack(images, names)
    return Pictures(stacked, y, folder.name, names, (*notes, *more))


@dataclass(frozen=True)
class _Found:
    files: Sequence[Path]
    n_others: int


def _find(folder: Path) -> _Found:
    """Pictures in the sub-folders, by name; what else is there is counted."""
    beside = [entry.name for entry in sorted(folder.iterdir()) if entry.suffix.lower() in _SUFFIXES and entry.is_file()]
    if beside:
        raise DataError(
            f"{folder.name} has {len(beside)} pictures beside its sub-folders, the first is {beside[0]}: put each "
            "into the sub-folder of its class"
        )
    files, n_others = [], 0
    for place, folders, names in os.walk(folder):  # links to folders are not followed
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if Path(name).suffix.lower() in _SUFFIXES and not name.startswith("."):
                files.append(Path(place, name))
            elif not name.startswith(".") and Path(place) != folder:
                n_others += 1
    linked = [entry.name for entry in sorted(folder.iterdir()) if entry.is_symlink() and entry.is_dir()]
    if linked:
        raise DataError(f"{linked[0]} in {folder.name} is a link to another folder: put the pictures themselves there")
    if not files:
        raise DataError(f"{folder} has no pictures in its sub-folders: one sub-folder for each class is needed")
    classes = {file.relative_to(folder).parts[0] for file in files}
    if len(classes) < 2:
        raise DataError(f"{folder.name} has one class alone, {min(classes)!r}: one sub-folder for each class is needed")
    return _Found(files, n_others)


def _read(file: Path, folder: Path, size: int | None) -> tuple[NDArray[Any], list[str]]:
    """One picture, of shape (H, W, 1 or 3), and what there is to say about it."""
    from PIL import Image, ImageOps

    if file.is_symlink() and not file.resolve().is_relative_to(folder.resolve()):
        raise ValueError("a link out of the folder")
    remarks = []
    with Image.open(file) as opened:
        if getattr(opened, "n_frames", 1) > 1:
            remarks.append("pictures are animated or have several pages: the first of them was taken")
        deep = opened.mode.startswith(("I;16", "I"))
        image = ImageOps.exif_transpose(opened)
        image.load()
    if "A" in image.getbands() or "transparency" in image.info:
        remarks.append("pictures have transparent parts, which were taken as they are without them")
    if deep:
        remarks.append("pictures have 16 bits: they were taken whole")
        values = Image.fromarray(np.asarray(image, dtype=np.float32) / np.float32(_SIXTEEN))
    elif image.mode in _GREY:
        values = image if image.mode == "F" else image.convert("L")
    else:
        values = image.convert("RGB")
    if size is not None and values.size != (size, size):
        values = values.resize((size, size), Image.Resampling.BILINEAR, reducing_gap=3.0)
    array = np.asarray(values)
    array = array[..., None] if array.ndim == 2 else array
    step = -(-max(array.shape[:2]) // LARGEST_SIDE)
    if step > 1:
        remarks.append(
            f"pictures had more than {LARGEST_SIDE} pixels on a side: they were made smaller by means of pixels, "
            "and the floor is that of the smaller ones"
        )
        array = reduce_pictures(array[None], step)[0]
    return array, remarks


def _stack(images: Sequence[NDArray[Any]], names: Sequence[str]) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Pictures of one size; grey ones among those in colour become three equal channels."""
    if not images:
        raise DataError("none of the pictures can be used")
    sizes: dict[tuple[int, int], int] = {}
    for image in images:
        at = (int(image.shape[0]), int(image.shape[1]))
        sizes[at] = sizes.get(at, 0) + 1
    if len(sizes) > 1:
        usual = max(sizes, key=lambda at: sizes[at])
        odd = next(name for name, image in zip(names, images, strict=True) if image.shape[:2] != usual)
        (height, width), (other, wide) = usual, images[names.index(odd)].shape[:2]
        raise DataError(
            f"pictures differ in size: {sizes[usual]} of {len(images)} have {height} x {width} pixels, {odd} has "
            f"{other} x {wide}. Make them alike with size=32 (--size 32)"
        )
    channels = {image.shape[2] for image in images}
    notes: tuple[str, ...] = ()
    if len(channels) > 1:
        n_grey = sum(image.shape[2] == 1 for image in images)
        notes = (f"{n_grey} of {len(images)} pictures are grey, the others in colour: all were taken as colour",)
    most = max(channels)
    return np.stack([np.broadcast_to(image, (*image.shape[:2], most)) for image in images]), notes


@contextmanager
def _bombs_are_errors() -> Iterator[None]:
    """Pillow warns of pictures of very many pixels, and refuses those of twice as many: here both are refused."""
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        yield


def _reason(error: Exception) -> str:
    from PIL import Image, UnidentifiedImageError

    if isinstance(error, Image.DecompressionBombError | Image.DecompressionBombWarning):
        return "it has so many pixels that it may be a decompression bomb"
    if isinstance(error, UnidentifiedImageError):
        return "it is no picture that can be read"
    return brief(str(error)).strip("'\"")
