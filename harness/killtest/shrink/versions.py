"""Versions that a reader of a report wants: killtest, Python, kernel, and the packages that the subject imports."""

import ast
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec

from killtest import machine
from killtest.plan import subject
from killtest.plan.manifest import Subject

_NAMED = ("killtest", "commit", "python", "sqlite", "kernel", "system", "filesystem")


def versions(who: Subject, folder: Path, argv: list[str]) -> dict[str, Any]:
    """What is known; `packages` are those that the subject's own files import, where this Python runs them."""
    facts = msgspec.json.decode(machine.describe(folder, argv))
    named = {name: facts[name] for name in (*_NAMED, *(["service"] if who.services else []))}
    return named | {"packages": _packages(_imported(_programs(who)))}


def _programs(who: Subject) -> list[Path]:
    """The Python files that the subject's commands name, if this Python runs them."""
    words = [word for command in (who.command, who.restart or ()) for word in command]
    if not any(word == "{python}" or Path(word).resolve() == Path(sys.executable).resolve() for word in words):
        return []
    named = [Path(word) for word in subject.command_line(words, who.folder, {})]
    return [path for path in dict.fromkeys(named) if path.suffix == ".py" and path.is_file()]


def _imported(programs: Iterable[Path]) -> set[str]:
    """The top-level names that the files import."""
    names: set[str] = set()
    for path in programs:
        try:
            tree = ast.parse(path.read_bytes())
        except (OSError, SyntaxError):
            continue  # of another Python, perhaps: then nothing is known
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.partition(".")[0])
    return names


def _packages(names: set[str]) -> dict[str, str]:
    found = metadata.packages_distributions()
    owners = {owner for name in names for owner in found.get(name, ())}
    return {owner: metadata.version(owner) for owner in sorted(owners)}
