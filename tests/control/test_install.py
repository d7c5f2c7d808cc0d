# SPDX-License-Identifier: BSD-2-Clause
"""`make install` of hyperperiod-xen: the tool and its unit, and the unit starts that tool."""

from __future__ import annotations

import configparser
import subprocess
from pathlib import Path

import pytest
from tests.support.control_machines import TOP, Machine, program
from tests.support.xen_images import tools


@pytest.mark.parametrize("prefix", ["/usr/local", "/usr"])
def test_the_unit_starts_the_tool(tmp_path: Path, prefix: str) -> None:
    tool = tools()
    subprocess.run(
        [
            "make", "--silent", "-f", "hosts/xen/control/Makefile", "install",
            f"OUT={tool.parent}", "TOOLSTACK=build/xen-toolstack", f"DESTDIR={tmp_path}",
            f"PREFIX={prefix}",
        ],
        cwd=TOP,
        check=True,
    )  # fmt: skip
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(tmp_path / "etc" / "systemd" / "system" / "hyperperiod-xen.service")
    path, *words = unit["Service"]["ExecStart"].split()
    assert path == f"{prefix}/sbin/hyperperiod-xen"
    assert words == ["apply", "--watch", "/etc/hyperperiod-xen.conf"]
    assert unit["Service"]["Type"] == "notify"
    assert unit["Unit"]["ConditionPathExists"] == words[-1]
    installed = tmp_path / path.lstrip("/")
    assert installed.read_bytes() == tool.read_bytes()
    assert installed.stat().st_mode & 0o777 == 0o755


def test_every_command_is_explained(tmp_path: Path) -> None:
    """`help` lists all of them, and a page of the documentation shows each."""
    machine = Machine(tmp_path)
    lines = machine.does("help").splitlines()
    names = [line.split()[1] for line in lines if line.startswith("  hyperperiod-xen ")]
    page = (TOP / "docs" / "xen" / "toolstack.md").read_text()
    assert {"apply", "save", "doctor", "set"} < set(names)
    assert [name for name in names if f"| `{name}" not in page] == []
    for name in names:
        assert machine.does("help", name).startswith(f"  hyperperiod-xen {name} ")
        assert machine.does(name, "--help") == machine.does("help", name)
    assert program().is_file()
