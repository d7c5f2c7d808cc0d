# SPDX-License-Identifier: BSD-2-Clause
"""Checks that modules do not know one another in circles: those of the package, and those in C.

A module that knows one that knows it cannot be read, tested or moved alone. In Python what counts
is who knows whom, not when: imports inside functions and those under TYPE_CHECKING count as all
others. In C and C++ a module is a source with the header of its name, and it knows what it
includes. Run from the top.
"""

import ast
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

SOURCES = Path("src")
C_SOURCES = ("core", "words", "hosts", "guests", "src")
C_ENDINGS = (".c", ".h", ".cpp", ".hpp")

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)

Graph = Mapping[str, frozenset[str]]


def graph_of(sources: Path) -> Graph:
    """Every module below a folder, by its full name, with the modules there that it imports.

    A native module has no source here: its stub (.pyi) stands for it.
    """
    files = [path for ending in ("py", "pyi") for path in sources.rglob(f"*.{ending}")]
    modules = dict(sorted((_name(path, sources), path) for path in files))
    return {
        name: frozenset(_imported(name, path, modules)) - {name} for name, path in modules.items()
    }


def _name(path: Path, sources: Path) -> str:
    parts = path.relative_to(sources).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(name: str, path: Path, modules: Mapping[str, Path]) -> Iterator[str]:
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                # What is imported from a package is one of its modules, or a name in itself.
                inner = f"{source}.{alias.name}"
                found = inner if inner in modules else source
                if found in modules:
                    yield found


def c_graph_of(folders: Iterable[str]) -> Graph:
    """Every C or C++ module below some folders, by its path without ending, with those it includes.

    An include is read from the top, or beside the file that has it; all others are of no module.
    """
    graph: dict[str, set[str]] = {}
    for folder in folders:
        for path in sorted(Path(folder).rglob("*")):
            if path.suffix in C_ENDINGS:
                module = str(path.with_suffix(""))
                graph.setdefault(module, set()).update(_included(path))
    return {name: frozenset(known) - {name} for name, known in graph.items()}


def _included(path: Path) -> Iterator[str]:
    for name in INCLUDE.findall(path.read_text()):
        for place in (Path(name), Path(os.path.normpath(path.parent / name))):
            if place.is_file():
                yield str(place.with_suffix(""))
                break


def circles(graph: Graph) -> list[list[str]]:
    """The largest sets of modules that all reach one another, in order of their names."""
    reached = {name: _reached(graph, name) for name in graph}
    found = {
        frozenset(other for other in reached[name] if name in reached.get(other, ()))
        for name in graph
        if name in reached[name]
    }
    return sorted(sorted(one) for one in found)


def _reached(graph: Graph, name: str) -> frozenset[str]:
    """All that a module imports, and what those import; itself only by a circle."""
    found: set[str] = set()
    waiting = list(graph[name])
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += graph.get(one, ())
    return frozenset(found)


def inside(graph: Graph, circle: list[str]) -> Iterator[str]:
    """The imports among the modules of a circle, for whoever is to cut one."""
    for name in circle:
        known = sorted(graph[name] & frozenset(circle))
        yield f"  {name} imports {', '.join(known)}"


def violations(graph: Graph) -> Iterator[str]:
    """Every circle, and who imports whom in it."""
    for circle in circles(graph):
        yield f"a circle of {len(circle)} modules: {', '.join(circle)}"
        yield from inside(graph, circle)


def main() -> int:
    """Prints every violation; 1 if there is one."""
    found = [*violations(graph_of(SOURCES)), *violations(c_graph_of(C_SOURCES))]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
