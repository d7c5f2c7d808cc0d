# SPDX-License-Identifier: BSD-2-Clause
"""The files of `export --to xen-xl` on a whole machine: Xen, Debian's dom0 and xl, and guests.

The only thing that is changed is what the README asks for: the domains' kernel.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.stack.dom0_image import MissingPackagesError, dom0_image
from tests.stack.machine import SYSTEM, Machine
from tests.support import xen_images
from tests.support.building import make

from hyperperiod.export import export_xl
from hyperperiod.model import System, parse_policy

TOP = Path(__file__).parents[2]
MS = 1_000_000
LIMIT_S = 240

SESSION = """
set -e
for part in start stop; do
  echo "== $part"
  sh ./$part.sh
  if [ $part = start ]; then
    sleep 1
    hyperperiod-xen apply hyperperiod-xen.conf >/results/again
    for name in control video rest; do
      hyperperiod-xen get $name --json >/results/$name.json
    done
    hyperperiod-xen pool-info s --json >/results/pool.json
    xl list >/results/list
  fi
done
xl list >/results/list-after
xl cpupool-list >/results/pools-after
echo well >/results/done
"""


def system() -> System:
    def server(budget_ms: float, period_ms: int) -> dict[str, int]:
        return {"period": period_ms * MS, "budget": int(budget_ms * MS)}

    tasks = {"task": [{"name": "t", "period": 20 * MS, "wcet": 1 * MS}]}
    domains: list[dict[str, Any]] = [
        {"name": "control", "interface": server(2, 10), **tasks},
        {"name": "video", "interface": server(7.5, 20), "vcpus": 2, **tasks},
        {"name": "rest", "best_effort": True},
    ]
    return System.of({"name": "s", "policy": parse_policy("wcps"), "domain": domains})


def session() -> dict[str, bytes]:
    """The export with the guests of the stack's tests, and the tool."""
    files = {"run": SESSION.encode()}
    for name, content in export_xl(system()).items():
        if isinstance(content, Path):
            content = content.read_text()
        assert isinstance(content, str)
        if name.endswith(".cfg"):
            content = content.replace('type = "pvh"', 'type = "pv"')
            content = re.sub(r'kernel = ".*', 'kernel = "/session/guest.elf"', content)
            content = re.sub(r"memory = \d+", "memory = 8", content)
            content += 'extra = "workload=spin report=100"\n'
        files[name] = content.encode()
    files["guest.elf"] = (TOP / "build" / "guests" / "x86" / "guest.elf").read_bytes()
    for program in ("xen-control/hyperperiod-xen", "stack/send"):
        files[Path(program).name] = (TOP / "build" / program).read_bytes()
    return files


@pytest.mark.slow
def test_the_commands_bring_the_system_up_and_end_it(tmp_path: Path) -> None:
    if not shutil.which(SYSTEM):
        pytest.skip(f"{SYSTEM}: not found; apt-get install qemu-system-x86")
    xen = xen_images.image("x86_64")
    xen_images.tools()
    make("tests/stack/Makefile")
    try:
        image = dom0_image()
    except MissingPackagesError as missing:
        pytest.skip(str(missing))
    ran = Machine(xen, image, pcpus=2).run(tmp_path, session(), LIMIT_S)
    assert ran.results.get("done") == b"well\n", ran.log[-3000:]
    assert ran.results["again"] == b"nothing to change\n"
    servers = {
        name: json.loads(ran.results[f"{name}.json"]) for name in ("control", "video", "rest")
    }
    assert [vcpu["best_effort"] for vcpu in servers["rest"]["vcpus"]] == [True]
    (control,) = servers["control"]["vcpus"]
    assert (control["period_ns"], control["budget_ns"]) == (10 * MS, 2 * MS)
    assert control["priority"] == 0
    for vcpu in servers["video"]["vcpus"]:
        assert (vcpu["period_ns"], vcpu["budget_ns"]) == (20 * MS, 7_500_000)
        assert vcpu["priority"] == 1
    assert len(servers["video"]["vcpus"]) == 2
    assert b'"policy": "wcps"' in ran.results["pool.json"]
    assert all(name in ran.results["list"] for name in (b"control", b"video", b"rest"))
    assert not any(name in ran.results["list-after"] for name in (b"control", b"video"))
    assert b"\ns " not in ran.results["pools-after"]
