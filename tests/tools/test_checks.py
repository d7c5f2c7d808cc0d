# SPDX-License-Identifier: BSD-2-Clause
"""Each house rule trips on a file that breaks it, and lets a clean one pass."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools import check_circles, check_core, check_files, check_layers

CLEAN = """\
// while, goto and float are only words here
#define EACH(i) for (unsigned i = 0; i < 4; i++)
static unsigned sum(unsigned a, unsigned b)
{
    EACH(i)
    a += b;
    return a;
}
"""

BROKEN = {
    "a loop or jump": "void f(void)\n{\n    while (1) {}\n}\n",
    "a plain for loop": "void f(void)\n{\n    for (;;) {}\n}\n",
    "floating point": "double f(void);\n",
    "a function pointer": "struct s {\n    void (*call)(int);\n};\n",
    "a default": "void f(int i)\n{\n    switch (i) {\n    default:\n        break;\n    }\n}\n",
    "conditional compilation": "#if 1\n#endif\n",
    "f takes 6 arguments": "void f(int a, int b, int c, int d, int e, int g)\n{\n}\n",
    "f calls itself": "int f(int a)\n{\n    return f(a);\n}\n",
    "f has 64 lines": "void f(void)\n{\n" + "    ;\n" * 61 + "}\n",
    "columns": "// " + "x" * 100 + "\n",
}


def test_clean_core_file_passes(tmp_path: Path) -> None:
    path = tmp_path / "clean.h"
    path.write_text(CLEAN)
    assert list(check_core.violations(path)) == []


@pytest.mark.parametrize("what", BROKEN)
def test_broken_core_file_is_found(what: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.h"
    path.write_text(BROKEN[what])
    assert any(what in found for _, found in check_core.violations(path))


def test_include_guard_is_no_conditional(tmp_path: Path) -> None:
    path = tmp_path / "guarded.h"
    path.write_text("// words\n#ifndef A_H\n#define A_H\nint a;\n#endif\n")
    assert list(check_core.violations(path)) == []


def test_a_docstring_without_a_subject_is_found(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    licence = "# SPDX-License-Identifier: BSD-2-Clause\n"
    path.write_text(f'{licence}def f() -> int:\n    """{"Of"} its bound."""\n    return 1\n')
    assert [found.split(": ")[0] for found in check_files.violations(path)] == [f"{path}:3"]
    path.write_text(
        f'{licence}def f() -> int:\n    """Offset (ns) of its bound."""\n    return 1\n'
    )
    assert list(check_files.violations(path)) == []


def test_missing_and_wrong_licences_are_found(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = 1\n")
    assert "no SPDX" in next(check_files.violations(path))
    path.write_text("# SPDX-License-Identifier: MIT\n")
    assert "licence MIT" in next(check_files.violations(path))
    path.write_text("# SPDX-License-Identifier: BSD-2-Clause\n")
    assert list(check_files.violations(path)) == []


@pytest.mark.parametrize("text", ["see /wo" + "rk/main", "fixes iss" + "ue 3", "TO" + "DO later"])
def test_traces_of_the_office_are_found(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(f"Some prose.\n{text}\n")
    assert len(list(check_files.violations(path))) == 1


def test_upward_imports_and_includes_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    package = tmp_path / "src/hyperperiod"
    for name, text in {
        "model/a.py": "from hyperperiod.analysis import analyze\n",
        "analysis/b.py": "from ..model import System\nimport hyperperiod._sim\n",
        "cli/c.py": "from hyperperiod import report\nimport pytest\n",
    }.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    (tmp_path / "core").mkdir()
    (tmp_path / "core/a.h").write_text('#include <stdint.h>\n#include "hosts/sim/x.h"\n')
    assert [line.split(":")[0] for line in check_layers.wrong_imports()] == [
        "src/hyperperiod/analysis/b.py",
        "src/hyperperiod/cli/c.py",
        "src/hyperperiod/model/a.py",
    ]
    assert len(list(check_layers.wrong_includes("core", ("core",)))) == 2


@pytest.mark.parametrize(
    "line",
    [
        "    n = ld->core.pcpu[0].grant.run;",
        "    n = core_->pcpus;",
        "    core()->now_ns = 0;",
        "    n = core_.get()->planned;",
        "    n = hp_server_of(core, 1)->working;",
        "    const struct hp_pcpu *pcpu;",
    ],
)
def test_hosts_do_not_reach_into_the_core(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fields are those of the real state; verbs and what is called like a field are allowed."""
    state = check_layers.STATE.read_text()
    monkeypatch.chdir(tmp_path)
    host = Path("hosts/sim/a.cpp")
    for path in (host, check_layers.STATE):
        path.parent.mkdir(parents=True)
    check_layers.STATE.write_text(state)
    host.write_text(
        "grant = *hp_pick(&ld->core, 0, now);\nn = hp_pcpus(core_.get());\ncore_.steal(1);\n"
    )
    assert list(check_layers.reaches_inside()) == []
    host.write_text(f"\n{line}\n")
    (found,) = check_layers.reaches_inside()
    assert found.startswith("hosts/sim/a.cpp:2: ")


@pytest.mark.parametrize(
    ("part", "other"),
    [("hosts", "analysis"), ("analysis", "hosts"), ("hosts.linux", "hosts.xen")],
)
@pytest.mark.parametrize("indent", ["", "def f() -> None:\n    "])
def test_strangers_do_not_know_each_other(
    part: str, other: str, indent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An import inside a function counts, and so does one of a module deep below."""
    monkeypatch.chdir(tmp_path)
    path = Path("src/hyperperiod", *part.split("."), "inner", "a.py")
    path.parent.mkdir(parents=True)
    path.write_text(f"{indent}from hyperperiod.{other}.b import c\n")
    (found,) = check_layers.wrong_imports()
    assert found == (
        f"{path}: imports hyperperiod.{other}.b; {part} and {other} do not know each other"
    )
    Path("src/hyperperiod", *other.split(".")).mkdir(parents=True)
    above, _, name = f"hyperperiod.{other}".rpartition(".")
    path.write_text(f"{indent}from {above} import {name}\n")
    assert len(list(check_layers.wrong_imports())) == 1
    path.write_text(f"{indent}from hyperperiod.model import System\n")
    assert list(check_layers.wrong_imports()) == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("import hyperperiod", "imports hyperperiod, which leads to every part"),
        ("from hyperperiod import analyze", "hyperperiod.analyze, which leads to every part"),
        ('import_module("hyperperiod.analysis.b")', "hosts and analysis do not know each other"),
        ('importlib.import_module(f"hyperperiod.analysis.{b}")', "do not know each other"),
        ('import_module(f"hyperperiod.{b}")', "hyperperiod.?, and no check can see what that is"),
        ("import_module(b)", "imports ?, and no check can see what that is"),
        ('__import__("hyperperiod.cli")', "the order is"),
    ],
)
def test_there_is_no_way_round(
    line: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by the package as users know it, not by name, not by a module beside the parts."""
    monkeypatch.chdir(tmp_path)
    path = Path("src/hyperperiod/hosts/a.py")
    path.parent.mkdir(parents=True)
    path.write_text(f"def f() -> None:\n    {line}\n")
    (found,) = check_layers.wrong_imports()
    assert said in found
    path.write_text('import_module(f"{__name__}.{b}")\nimport_module(f"hyperperiod.trace.{b}")\n')
    assert list(check_layers.wrong_imports()) == []
    beside = path.parent.with_name("measured.py")
    beside.write_text("def f() -> None:\n    from hyperperiod.analysis import analyze\n")
    (found,) = check_layers.wrong_imports()
    assert found == f"{beside}: imports hyperperiod.analysis; beside the parts only model is known"


def test_no_module_of_tests_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bench").mkdir()
    Path("bench/a.py").write_text("from tests.support.worlds import task\n")
    assert list(check_layers.shared_tests()) == []
    for line in ("from tests.sim.test_flows import flow", "from tests.sim import test_flows"):
        Path("bench/a.py").write_text(f"def f() -> None:\n    {line}\n")
        (found,) = check_layers.shared_tests()
        assert found.startswith("bench/a.py: from tests.sim")


def test_a_part_that_is_one_file_stands_in_the_order_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    package = Path("src/hyperperiod")
    package.mkdir(parents=True)
    (package / "runs.py").write_text(
        "import hyperperiod.hosts.sim\nfrom hyperperiod.report import page\n"
    )
    (found,) = check_layers.wrong_imports()
    assert "runs imports hyperperiod.report; the order is" in found


def test_an_undeclared_import_is_found(tmp_path: Path) -> None:
    """deptry, as `make check` calls it: imports and dependencies must be the same."""
    (tmp_path / "src" / "a").mkdir(parents=True)
    (tmp_path / "src" / "a" / "__init__.py").write_text("import click\nimport jinja2\n")
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "a"\nversion = "1"\ndependencies = ["click", "rich"]\n'
    )
    command = [str(Path(sys.executable).with_name("deptry")), "--no-ansi", "src"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert "'jinja2' imported but" in done.stderr
    assert "DEP002 'rich' defined as a dependency but not used" in done.stderr


CIRCLES = {
    "plain": ("from package.b import f\n", "import package.a\n"),
    "by a relative name": ("from . import b\n", "from .a import g\n"),
    "inside a function": ("def f():\n    from package import b\n", "from package.a import f\n"),
    "for types alone": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from package.b import B\n",
        "from package.a import f\n",
    ),
    "through a third": ("import package.c\n", "import package.a\n"),
}


def modules(folder: Path, texts: dict[str, str]) -> check_circles.Graph:
    for name, text in {"__init__": "", "c": "import package.b\n", **texts}.items():
        (folder / "package").mkdir(exist_ok=True)
        (folder / "package" / f"{name}.py").write_text(text)
    return check_circles.graph_of(folder)


@pytest.mark.parametrize("how", CIRCLES)
def test_circles_of_imports_are_found(how: str, tmp_path: Path) -> None:
    first, second = CIRCLES[how]
    graph = modules(tmp_path, {"a": first, "b": second})
    (found,) = check_circles.circles(graph)
    assert {"package.a", "package.b"} <= set(found)
    assert any("package.a imports" in line for line in check_circles.violations(graph))


def test_circles_of_includes_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A source counts with its header: here one circle is of headers, and one is not."""
    texts = {
        "x/a.h": '#include "b.h"\n',
        "x/b.c": '#include "a.h"\n',
        "x/c.h": '#include "x/d.h"\n#include <e.h>\n',
        "x/d.h": "",
        "x/d.c": '#include "d.h"\n#include "missing.h"\n',
    }
    monkeypatch.chdir(tmp_path)
    for name, text in texts.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    Path("x/b.h").touch()
    graph = check_circles.c_graph_of(["x"])
    assert check_circles.circles(graph) == [["x/a", "x/b"]]
    assert graph["x/c"] == {"x/d"}


def test_modules_that_stand_on_one_another_are_no_circle(tmp_path: Path) -> None:
    graph = modules(tmp_path, {"a": "from package.b import f\n", "b": "import sys\n"})
    assert graph["package.a"] == {"package.b"}
    assert list(check_circles.violations(graph)) == []
