"""Pages of the site that are made from the code, so that a new name, command or code has its page by itself.

- reference/api: every public name, from `src/bayesfloor/__init__.pyi`
- reference/command: every command, from its parser
- reference/doubts: every doubt's code, from the code and the tables in method.md
- evidence: the tables of benchmarks/results
"""

import argparse
import importlib
import inspect
import re
import typing
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import bayesfloor
from bayesfloor.arena.__main__ import parser as arena_parser
from bayesfloor.cli.main import parser
from bayesfloor.floor.doubts import SEVERITIES

ROOT = Path(__file__).parents[1]

# Headings by the room that a name lives in; a room that is not here goes by its own name.
_ROOMS = {
    "floor": "Estimate the floor, and compare with it",
    "stopping": "When to stop, how much data",
    "tables": "Files and frames",
    "balls": "The paper's estimator",
    "bounds": "Bounds, and labels that carry uncertainty",
    "counting": "Counting",
    "utils": "Intervals, versions",
    "errors": "Errors and the warning",
}
_ROOMS_TO_IMPORT = ("stopping",)  # what is in them besides public names is meant to be imported, too
_READING_ORDER = (
    "csv_to_decision",
    "stop_or_go_on",
    "first_floor",
    "from_file",
    "compare_model",
    "digits",
    "breast_cancer",
    "wine",
)


def in_reading_order(file: str) -> tuple[int, str]:
    """Pages of tutorial and gallery: what to read first, then the others by name."""
    stem = Path(file).stem
    return (_READING_ORDER.index(stem) if stem in _READING_ORDER else len(_READING_ORDER), stem)


def write_all(docs: Path) -> None:
    """All generated pages; those of names that are gone go, too."""
    pages = {
        "reference/api": dict(api_pages()),
        "reference/command": dict(command_pages()),
        "reference/doubts": dict(doubt_pages()),
        "evidence": dict(evidence_pages()),
    }
    for folder, texts in pages.items():
        wanted = {docs / folder / name: text for name, text in texts.items()}
        for old in (docs / folder).rglob("*.*"):
            if old not in wanted:
                old.unlink()
        for file, text in wanted.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            if not file.exists() or file.read_text(encoding="utf-8") != text:  # what has not changed is not built again
                file.write_text(text, encoding="utf-8")


# --- public names -------------------------------------------------------------------------------------------


def public_names() -> dict[str, str]:
    """Every public name with the page it has, in the folder reference/api.

    Functions and classes have folders of their own: `plan` and `Plan` are one file name to some systems.
    """
    pages = {}
    for name in bayesfloor.__all__:
        thing = getattr(bayesfloor, name)
        kind = "modules" if isinstance(thing, ModuleType) else "classes" if inspect.isclass(thing) else "functions"
        pages[name] = f"{kind}/{name}"
    return pages


def api_pages() -> Iterator[tuple[str, str]]:
    """A page for each public name, and the list of them."""
    names = public_names()
    rooms: dict[str, list[str]] = {}
    seen: set[type] = set()
    for name, page in names.items():
        thing = getattr(bayesfloor, name)
        if isinstance(thing, ModuleType):
            yield f"{page}.rst", _module_page(name, thing, names, seen)
            rooms.setdefault("modules", []).append(name)
        else:
            yield f"{page}.rst", _object_page(name, thing, names, seen)
            rooms.setdefault(thing.__module__.split(".")[1], []).append(name)
    for room in _ROOMS_TO_IMPORT:
        yield f"modules/{room}.rst", _module_page(room, importlib.import_module(f"bayesfloor.{room}"), names, seen)
    order = sorted(rooms, key=lambda room: ([*_ROOMS, room].index(room), room))
    text = [_title("Public names", "=")]
    text.append("Imported as ``import bayesfloor as bf``; each loads on first use.\n")
    for room in (*(room for room in order if room != "modules"), "modules"):
        heading = "Modules" if room == "modules" else _ROOMS.get(room, room.capitalize())
        listed = {name: (names[name], getattr(bayesfloor, name)) for name in sorted(rooms[room], key=str.swapcase)}
        if room == "modules":
            listed |= {
                name: (f"modules/{name}", importlib.import_module(f"bayesfloor.{name}")) for name in _ROOMS_TO_IMPORT
            }
        lines = [f"   * - :doc:`{name} <{page}>`\n     - {_summary(thing)}" for name, (page, thing) in listed.items()]
        text += [_title(heading, "-"), ".. list-table::\n   :widths: 32 68\n", "\n".join(lines) + "\n"]
    pages = names | {room: f"modules/{room}" for room in _ROOMS_TO_IMPORT}
    text.append(".. toctree::\n   :hidden:\n\n" + "\n".join(f"   {name} <{page}>" for name, page in pages.items()))
    yield "index.rst", "\n".join(text) + "\n"


def _object_page(name: str, thing: Any, names: dict[str, str], seen: set[type]) -> str:
    parts = [_title(name, "="), _directive(f"bayesfloor.{name}", thing)]
    parts += _record_sections(_records_of(thing, names), seen)
    return "\n".join([*parts, _gallery(f"bayesfloor.{name}")])


def _module_page(name: str, module: ModuleType, names: dict[str, str], seen: set[type]) -> str:
    parts = [_title(name, "="), f"{_summary(module)}\n", f".. py:module:: bayesfloor.{name}\n"]
    records: list[type] = []
    for member in sorted(module.__all__):
        thing = getattr(module, member)
        if getattr(bayesfloor, member, None) is thing and member in names:
            parts += [_title(member, "-"), f"See :doc:`bayesfloor.{member} <../{names[member]}>`.\n"]
        elif callable(thing):
            parts += [_title(member, "-"), _directive(f"bayesfloor.{name}.{member}", thing)]
            parts.append(_gallery(f"bayesfloor.{name}.{member}"))
            records += [
                record
                for record in _records_of(thing, names)
                if record not in records and record.__name__ not in module.__all__
            ]
    return "\n".join([*parts, *_record_sections(records, seen)])


def _record_sections(records: Iterable[type], seen: set[type]) -> Iterator[str]:
    """Each record is described once, on the first page that needs it; on others a link leads there."""
    for record in records:
        path = f"{record.__module__}.{record.__name__}"
        yield _title(record.__name__, "-")
        yield f"See :py:class:`{path}`.\n" if record in seen else _directive(path, record)
        seen.add(record)


def _directive(path: str, thing: Any) -> str:
    if inspect.isclass(thing):
        return f".. autoclass:: {path}\n   :members:\n"
    return f".. autofunction:: {path}\n"


def _gallery(path: str) -> str:
    return f".. minigallery:: {path}\n   :add-heading: In the gallery\n   :heading-level: ~\n"


def _records_of(thing: Any, names: dict[str, str]) -> list[type]:
    """Classes of bayesfloor that are no public names themselves, but are returned, or fields of what is."""
    found: list[type] = []
    waiting = [thing]
    while waiting:
        one = waiting.pop()
        try:
            hints = typing.get_type_hints(one)
        except (NameError, TypeError):  # imports for the sake of types alone; things without any
            continue
        wanted = hints.values() if inspect.isclass(one) else [hints.get("return")]
        for kind in _classes_in(wanted):
            public = kind.__name__ in names
            if kind.__module__.startswith("bayesfloor.") and not public and kind is not thing and kind not in found:
                found.append(kind)
                waiting.append(kind)
    return found


def _classes_in(hints: Iterable[Any]) -> Iterator[type]:
    for hint in hints:
        if inspect.isclass(hint) and not typing.get_args(hint):
            yield hint
        yield from _classes_in(typing.get_args(hint))


def _summary(thing: Any) -> str:
    """First sentence of the docstring, on one line."""
    return " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())


def _title(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}\n"


# --- commands -----------------------------------------------------------------------------------------------


def commands() -> dict[str, argparse.ArgumentParser]:
    """Every command with its parser, that of the arena among them."""
    top = parser()
    (subparsers,) = (action for action in top._actions if isinstance(action, argparse._SubParsersAction))
    return {**subparsers.choices, "arena": arena_parser()}


def command_pages() -> Iterator[tuple[str, str]]:
    """A page for each command, and the list of them."""
    top = parser()
    (subparsers,) = (action for action in top._actions if isinstance(action, argparse._SubParsersAction))
    about = {action.dest: str(action.help) for action in subparsers._choices_actions}
    for name, one in commands().items():
        yield f"{name}.md", _command_page(f"bayesfloor {name}", one)
    rows = [f"| [`bayesfloor {name}`]({name}.md) | {_cell(about[name])} |" for name in about]
    table = ["| command | what it does |", "|---|---|", *rows]
    text = [*_paragraphs(top.description), *table, "", "```text", (top.epilog or "").strip(), "```"]
    yield "index.md", _list_page("The command", text, commands())


def _command_page(title: str, one: argparse.ArgumentParser) -> str:
    usage = " ".join(one.format_usage().split()).removeprefix("usage: ")
    text = [f"# {title}", "", *_paragraphs(one.description), "```text", _wrap(usage), "```", ""]
    rows = []
    for action in one._actions:
        if action.help == argparse.SUPPRESS:
            continue
        value = str(action.metavar or ("" if action.nargs == 0 else action.dest.upper()))
        if action.choices:
            value = ",".join(map(str, action.choices))
        written = [f"`{option} {value}`".replace(" `", "`") for option in action.option_strings]
        name = ", ".join(written) or f"`{action.metavar or action.dest}`"
        rows.append(f"| {_cell(name)} | {_cell(action.help or '')} |")
    text += ["| option | meaning |", "|---|---|", *rows, ""]
    if one.epilog:
        text += ["```text", one.epilog.strip(), "```", ""]
    return "\n".join(text)


def _paragraphs(text: str | None) -> list[str]:
    return [line for part in (text or "").strip().split("\n\n") for line in (" ".join(part.split()), "")]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("%%", "%")


def _wrap(usage: str, width: int = 100) -> str:
    lines = [""]
    for word in re.findall(r"\[[^\]]*\]\.{0,3}|\S+", usage):
        if len(lines[-1]) + len(word) > width:
            lines.append(" " * 4)
        lines[-1] += f"{word} "
    return "\n".join(line.rstrip() for line in lines)


# --- doubts -------------------------------------------------------------------------------------------------


def doubts() -> dict[str, str]:
    """Every doubt's code with its meaning, from the table in method.md."""
    return {code: rest[-1] for code, *rest in _method_table("severity")}


def doubt_pages() -> Iterator[tuple[str, str]]:
    """A page for each code, and the list of them."""
    meaning = doubts()
    missing = set(SEVERITIES) ^ set(meaning)
    if missing:
        raise ValueError(f"doubts in floor/doubts.py and in the table of docs/method.md differ: {sorted(missing)}")
    advice: dict[str, list[tuple[str, str]]] = {}
    for code, condition, what in _method_table("given if"):
        advice.setdefault(code, []).append((condition, what))
    for code, severity in SEVERITIES.items():
        text = [f"# {code}", "", f"**Meaning:** {meaning[code].rstrip('.')}.", ""]
        text += [f"**Severity:** {severity}. That is: {_todo()[severity].rstrip('.')}.", ""]
        if code in advice:
            text += ["| the report advises | if |", "|---|---|"]
            text += [f"| {what} | {condition} |" for condition, what in advice[code]]
            text.append("")
        text += ["```python", f'any(doubt.code == "{code}" for doubt in result.doubts)', "```", ""]
        text += ["[All codes](index.md), and [how the report uses them](/method.md#doubts).", ""]
        yield f"{code}.md", "\n".join(text)
    about = """What speaks against taking a result at face value is in `result.doubts`: records with a code, a severity,
the figures and a sentence. Programs should look at the code; sentences may be reworded.
"""
    severities = [f"- **{severity}**: {what}" for severity, what in _todo().items()]
    rows = [f"| [`{code}`]({code}.md) | {severity} | {meaning[code]} |" for code, severity in SEVERITIES.items()]
    table = ["| code | severity | meaning |", "|---|---|---|", *rows]
    yield "index.md", _list_page("Doubts", [about, *severities, "", *table], SEVERITIES)


def _method() -> str:
    return (ROOT / "docs" / "method.md").read_text(encoding="utf-8")


def _todo() -> dict[str, str]:
    """What each severity asks of the reader."""
    return dict(re.findall(r"^- \*\*(note|caution|serious)\*\*: (.*)$", _method(), flags=re.MULTILINE))


def _method_table(column: str) -> list[list[str]]:
    """Cells of the table of codes that has this column; codes without backticks."""
    head = re.search(rf"^\| code \| {column} \|.*\n\|[-|]+\n((?:\|.*\n)+)", _method(), flags=re.MULTILINE)
    if head is None:
        raise ValueError(f"docs/method.md has no table of codes with the column {column!r}")
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in head.group(1).splitlines()]
    return [[row[0].strip("` "), *row[1:]] for row in rows]


# --- evidence -----------------------------------------------------------------------------------------------


def evidence_pages() -> Iterator[tuple[str, str]]:
    """The measured tables, with the list of them."""
    titles = {}
    for file in sorted((ROOT / "benchmarks" / "results").glob("*.md")):
        text = file.read_text(encoding="utf-8")
        found = re.search(r"^# (.+)$", text, flags=re.MULTILINE)
        title = found.group(1) if found else file.stem.replace("_", " ").capitalize()
        titles[file.stem] = title
        yield file.name, text if found else f"# {title}\n\n{text}"
    about = """Every figure on these pages is written by a command in the repository, which the page names. `make
evidence` runs all of them.
"""
    links = [f"- [{title}]({stem}.md)" for stem, title in titles.items()]
    yield "index.md", _list_page("What was measured", [about, *links], titles)


def _list_page(title: str, text: Iterable[str], pages: Iterable[str]) -> str:
    """A page with links to others, which are below it in the site's tree."""
    return "\n".join([f"# {title}", "", *text, "", "```{toctree}", ":hidden:", "", *pages, "```", ""])
