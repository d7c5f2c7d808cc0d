# SPDX-License-Identifier: BSD-2-Clause
"""Checks that no folder knows one it must not know.

The folders of the repository stand on one another, and an arrow goes only one way: the core
knows nothing, a host knows the core, the record and itself, the Python package knows none of the
tests and tools. Inside the package the parts stand in the order of `PARTS`: each may import itself
and those before it; two that no order shows are strangers (`STRANGERS`). An import inside a
function counts like any other, and so does one by name (`import_module`), whose part must stand in
the text.
Nor is there a way round: the package itself and the modules beside the parts lead to none but
`model`, save those that start a program (`STARTS`). C and C++ are read for `#include`, Python for
imports. A host calls the core and looks at it by its functions (`core/look.h`): no field of the
core's state has a name in a host. No module of tests is imported by another file: what they share
stands beside them or in `tests/support`. Run from the top.
"""

import ast
import re
import sys
from collections.abc import Iterator
from os.path import normpath
from pathlib import Path

PACKAGE = Path("src/hyperperiod")

# From the one that knows nothing to the one that knows all.
PARTS = (
    "model",
    "analysis",
    "trace",
    "observe",
    "hosts",
    "overruns",
    "runs",
    "for_host",
    "host_differences",
    "report",
    "experiments",
    "papers",
    "export",
    "results",
    "workbench",
    "cli",
)

# What does not know each other in either direction, whatever the order: a host runs what it is
# given, and the analysis judges without running. They meet in `runs`. Neither of Xen and Linux
# needs the other.
STRANGERS = (frozenset({"analysis", "hosts"}), frozenset({"hosts.linux", "hosts.xen"}))

# Modules beside the parts that lead to all of them: the package as users know it, and its command.
STARTS = ("__init__", "__main__", "front")

# What the parts may share: the package itself, and its native modules. A native module is
# known only to the part that wraps it.
NATIVE_OWNER = {
    "_rules": "model",
    "_sim": "hosts",
    "_analysis": "analysis",
    "_check": "trace",
    "_convert": "trace",
}

# Folder with C or C++ sources: the folders, or single headers, that it may include in quotes.
MAY_INCLUDE = {
    "core": ("core",),
    "record": ("record",),
    "words": ("core", "words"),
    "hosts/sim": ("core", "record", "hosts/sim"),
    "hosts/linux": ("core", "record", "words", "hosts/linux"),
    "src/hyperperiod/model/rules": ("core",),
    "src/hyperperiod/analysis/kernels": ("src/hyperperiod/analysis/kernels",),
    "src/hyperperiod/trace/properties": ("record", "src/hyperperiod/trace/properties"),
    "src/hyperperiod/trace/writers": ("record", "src/hyperperiod/trace/writers"),
    "hosts/xen": ("core", "record", "words", "hosts/xen"),
    "guests": ("core", "record", "words", "guests"),
}

# An include that starts with one of these is read from the top of the repository.
TOP_FOLDERS = {"core", "record", "words", "hosts", "guests", "src", "tests", "bench", "tools"}

# The only file of the core that may include something of its host's.
SEAM = Path("core/env.h")

# Top-level names that only development knows.
DEVELOPMENT = ("tests", "bench", "tools", "pytest", "hypothesis", "jsonschema")

# Where the core's state is laid out.
STATE = Path("core/types.h")
LAID_OUT = ("hp_core", "hp_server", "hp_pcpu", "hp_queue", "hp_share")

# What hands out a part of it.
INSIDE = re.compile(r"\bhp_(?:server|pcpu|queue)_of\b|\bstruct hp_(?:server|pcpu|queue|share)\b")

# An import of a module of tests.
OF_TESTS = re.compile(
    r"^ *(?:from tests\.[\w.]*\btest_\w+|from tests[\w.]* import .*\btest_\w+)", re.M
)

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def c_sources(folder: Path) -> Iterator[Path]:
    """Every C or C++ file below a folder."""
    for path in sorted(folder.rglob("*")):
        if path.suffix in {".c", ".h", ".cpp", ".hpp", ".S"}:
            yield path


def wrong_includes(folder: str, allowed: tuple[str, ...]) -> Iterator[str]:
    """Includes in a folder that lead to a folder it must not know."""
    for path in c_sources(Path(folder)):
        for bracket, name in INCLUDE.findall(path.read_text()):
            if bracket == "<":
                if folder == "core" and path != SEAM:
                    yield f"{path}: includes <{name}>; only {SEAM} may know the host"
                continue
            from_top = Path(name).parts[0] in TOP_FOLDERS
            target = Path(name) if from_top else Path(normpath(path.parent / name))
            if not any(target.is_relative_to(home) for home in allowed):
                yield f"{path}: includes {name}; allowed: {', '.join(allowed)}"


def state_fields() -> set[str]:
    """The names of the fields of the core's state."""
    text = re.sub(r"/\*.*?\*/", "", STATE.read_text(), flags=re.DOTALL)
    return {
        field
        for name in LAID_OUT
        for body in re.findall(rf"^struct {name} {{(.*?)^}}", text, re.MULTILINE | re.DOTALL)
        for field in re.findall(r"(\w+)(?:\[[^\]]*\])*;", body)
    }


def reaches_inside() -> Iterator[str]:
    """Lines of hosts that read or write the core's state themselves."""
    fields = "|".join(sorted(state_fields()))
    reached = re.compile(rf"\bcore_?(?:\(\)|\.get\(\))?(?:\.|->)(?:{fields})\b(?!\()")
    for path in c_sources(Path("hosts")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for pattern in (reached, INSIDE):
                if found := pattern.search(line):
                    yield f"{path}:{number}: {found[0]}; hosts look at the core by core/look.h"


def imports(path: Path) -> Iterator[str]:
    """Full names of what a Python file imports, relative ones resolved."""
    module = ("hyperperiod", *path.relative_to(PACKAGE).with_suffix("").parts)
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = list(module[: -node.level]) if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            # `from hyperperiod import analysis` names a part only in its list of names, and
            # `from hyperperiod.hosts import xen` a folder of one.
            folder = PACKAGE.parent.joinpath(*name.split("."))
            listed = [alias.name for alias in node.names]
            inner = [one for one in listed if name == "hyperperiod" or (folder / one).is_dir()]
            yield from (f"{name}.{one}" for one in inner)
            if len(inner) < len(listed):
                yield name
        elif isinstance(node, ast.Call) and called(node) in ("import_module", "__import__"):
            yield name_in_text(node.args[0], ".".join(module))


def called(call: ast.Call) -> str:
    """The name of the function that is called, without the module that it is in."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def name_in_text(name: ast.expr, module: str) -> str:
    """A module's name as far as the text gives it; what is computed is left open as `?`."""
    parts = name.values if isinstance(name, ast.JoinedStr) else [name]
    text = ""
    for part in parts:
        inner = part.value if isinstance(part, ast.FormattedValue) else part
        if isinstance(inner, ast.Constant):
            text += str(inner.value)
        elif getattr(inner, "id", "") == "__name__":
            text += module.removesuffix(".__init__")
        else:
            return f"{text}?"
    return text


def wrong_imports() -> Iterator[str]:
    """Imports inside the package that point outside it or upward."""
    for path in sorted(PACKAGE.rglob("*.py")):
        here = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        part = here.partition(".")[0]
        for name in imports(path):
            top, _, rest = name.partition(".")
            target = rest.partition(".")[0]
            if top in DEVELOPMENT:
                yield f"{path}: imports {name}, which only development knows"
            if part not in PARTS:
                if part not in STARTS and target in PARTS and target != "model":
                    yield f"{path}: imports {name}; beside the parts only model is known"
                continue
            if "?" in top + target and part != PARTS[-1]:
                yield f"{path}: imports {name}, and no check can see what that is"
            if top != "hyperperiod":
                continue
            if not target or not is_module(target):
                yield f"{path}: imports {name}, which leads to every part"
            if target in NATIVE_OWNER and NATIVE_OWNER[target] != part:
                yield f"{path}: imports {name}, which only {NATIVE_OWNER[target]} knows"
            if pair := strangers(here, rest):
                yield f"{path}: imports {name}; {pair[0]} and {pair[1]} do not know each other"
            elif target in PARTS and PARTS.index(target) > PARTS.index(part):
                yield f"{path}: {part} imports {name}; the order is {' < '.join(PARTS)}"


def strangers(here: str, there: str) -> list[str]:
    """The parts that these modules are in, or folders of one; none if these may know each other."""
    for depth in (1, 2):
        pair = [".".join(one.split(".")[:depth]) for one in (here, there)]
        if frozenset(pair) in STRANGERS:
            return pair
    return []


def is_module(name: str) -> bool:
    """Whether the package has a module, native module or part of that name, or may have."""
    if name in PARTS or name in NATIVE_OWNER or "?" in name:
        return True
    return (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()


def shared_tests() -> Iterator[str]:
    """Imports of modules of tests."""
    for folder in ("tests", "bench", "docs", "tools"):
        for path in sorted(Path(folder).rglob("*.py")):
            for found in OF_TESTS.findall(path.read_text()):
                yield f"{path}: {found.strip()}; what tests share stands in tests/support"


def main() -> int:
    """Prints every violation; 1 if there is one."""
    found = [
        line for folder, allowed in MAY_INCLUDE.items() for line in wrong_includes(folder, allowed)
    ]
    found += reaches_inside()
    found += wrong_imports()
    found += shared_tests()
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
