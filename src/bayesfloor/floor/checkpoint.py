"""Finished pieces of a run in a folder, so that an interrupted one goes on to the identical result."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError, ParameterError
from ..utils.checks import brief
from ..utils.files import is_leftover, write_file

__all__ = ["Checkpoint"]

_MANIFEST = "bayesfloor-run.json"


class Checkpoint:
    """Pieces of one run; each is a file, whole or not there. Plain arrays and texts only, never pickled objects.

    Parameters
    ----------
    folder : str or Path
        Made if it is not there.
    about : dict
        What the run is of: data, settings, version. A folder of another run is refused.
    """

    def __init__(self, folder: str | Path, about: dict[str, Any]) -> None:
        self._folder = Path(folder)
        manifest = self._folder / _MANIFEST
        try:
            if self._folder.exists() and not self._folder.is_dir():
                raise ParameterError(f"checkpoint {self._folder} is not a folder")
            self._folder.mkdir(parents=True, exist_ok=True)
            # A run that was killed while it wrote leaves a file under a temporary name.
            others = [entry.name for entry in self._folder.iterdir() if not is_leftover(entry)]
        except OSError as error:
            raise ParameterError(f"cannot use {brief(str(folder))} for a checkpoint: {error.strerror}") from None
        if not manifest.exists():
            if others:
                raise ParameterError(
                    f"{self._folder} holds other files ({others[0]}) and no checkpoint: name an empty or a new folder"
                )
            write_file(manifest, json.dumps(about, indent=1) + "\n")
            return
        try:
            kept = json.loads(manifest.read_text(encoding="utf-8"))
            if not isinstance(kept, dict):
                raise ValueError
        except (OSError, ValueError, RecursionError):
            raise ParameterError(f"{manifest} cannot be read: delete the folder to begin anew") from None
        about = json.loads(json.dumps(about))
        different = sorted(name for name in {*about, *kept} if about.get(name) != kept.get(name))
        if different:
            raise ParameterError(
                f"the checkpoint in {self._folder} is of another run: {', '.join(different)} differ. Use the same data "
                "and settings, or another folder"
            )

    def has(self, name: str) -> bool:
        """Whether the piece of this name is kept already."""
        return self._file(name).exists()

    def get(self, name: str, make: Callable[[], Any]) -> Any:
        """The piece of this name: kept already, or made and kept."""
        file = self._file(name)
        if file.exists():
            return _read(file)
        value = make()
        arrays: list[Any] = []
        tree = json.dumps(_without_arrays(value, arrays))
        buffer = io.BytesIO()
        np.savez(buffer, tree=np.array(tree), **{f"array{i}": array for i, array in enumerate(arrays)})
        write_file(file, buffer.getvalue(), force=True)
        return value

    def _file(self, name: str) -> Path:
        return self._folder / f"{name.replace(' ', '-')}.npz"


def _read(file: Path) -> Any:
    try:
        with np.load(file, allow_pickle=False) as stored:
            return _with_arrays(json.loads(str(stored["tree"])), stored)
    except Exception as error:  # numpy and zipfile raise all sorts of things on damaged files
        raise DataError(
            f"{file} of the checkpoint is damaged ({brief(error)}): delete it, and its piece is done again"
        ) from None


def _without_arrays(value: Any, arrays: list[Any]) -> Any:
    """The value as JSON has it, with arrays set aside."""
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, dict):
        return {"dict": [[key, _without_arrays(entry, arrays)] for key, entry in value.items()]}
    if isinstance(value, tuple | list):
        return {type(value).__name__: [_without_arrays(entry, arrays) for entry in value]}
    return {"value": value}


def _with_arrays(tree: Any, stored: Any) -> Any:
    ((kind, value),) = tree.items()
    if kind == "array":
        return stored[f"array{value}"]
    if kind == "dict":
        return {key: _with_arrays(entry, stored) for key, entry in value}
    if kind in ("tuple", "list"):
        entries = [_with_arrays(entry, stored) for entry in value]
        return tuple(entries) if kind == "tuple" else entries
    return value
