# SPDX-License-Identifier: BSD-2-Clause
"""The files of exports for xl on a whole machine: Xen, Debian's dom0 and xl, and guests.

`xen-xl` is put on Xen with our scheduler, the others on Xen as it is. The only thing that is
changed is what the README asks for: the domains' kernel.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from tests.stack.sessions import need_exact_clock
from tests.support import xen_images
from tests.support.building import make

from hyperperiod.export import HOSTS, export_xl
from hyperperiod.hosts import debian
from hyperperiod.hosts.xen.dom0_machine import DOM0, SYSTEM, Machine
from hyperperiod.model import System, load_system, parse_policy

Files = Mapping[str, str | bytes | Path]
TOP = Path(__file__).parents[2]
MS = 1_000_000
LIMIT_S = 600

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


STOCK_SESSION = """
set -e
sh ./start.sh
sleep 1
sh ./start.sh
xl cpupool-list >/results/pools
xl cpupool-list -c >/results/pcpus
xl sched-rtds -v all >/results/servers
xl vcpu-list >/results/list
xl list -v >/results/times
sh ./stop.sh
xl list >/results/list-after
echo well >/results/done
"""


TABLE_SESSION = """
set -e
ln -s /session/python/bin/python3.13 /usr/bin/python3
export PYTHONHOME=/session/python LD_LIBRARY_PATH=/session/python/lib
sh ./start.sh
sleep 8
xl cpupool-list >/results/pools
sh ./stop.sh
echo well >/results/done
"""


def python_of_dom0() -> dict[str, bytes]:
    """Debian's Python for dom0, of which xen-utils depends: what the exported script imports."""
    names = ("python3.13-minimal", "libpython3.13-minimal", "libpython3.13-stdlib",
             "libffi8", "libexpat1", "zlib1g")  # fmt: skip
    root = TOP / "build" / "dom0" / "python"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    for package in debian.packages(TOP / "build" / "downloads", "amd64", names):
        subprocess.run(["dpkg-deb", "-x", str(package), str(root)], check=True)
    modules = root / "usr" / "lib" / "python3.13"
    folders = ("", "collections", "ctypes", "encodings", "importlib", "re", "lib-dynload")
    chosen = {
        f"lib/python3.13/{one.relative_to(modules)}": one
        for folder in folders
        for one in (modules / folder).glob("*.*")
        if one.suffix in (".py", ".so") and one.is_file()
    }
    chosen["bin/python3.13"] = root / "usr" / "bin" / "python3.13"
    chosen |= {f"lib/{one.name}": one for one in root.glob("usr/lib/*/lib*.so.*")}
    return {f"python/{name}": path.read_bytes() for name, path in chosen.items()}


def session(files: Files, script: str) -> dict[str, bytes]:
    """The export with the guests of the stack's tests, and the tool."""
    sent = {"run": script.encode()}
    for name, content in files.items():
        if isinstance(content, Path):
            content = content.read_text()
        assert isinstance(content, str)
        if name.endswith(".cfg"):
            content = content.replace('type = "pvh"', 'type = "pv"')
            content = re.sub(r'kernel = ".*', 'kernel = "/session/guest.elf"', content)
            content = re.sub(r"memory = \d+", "memory = 8", content)
            content += 'extra = "workload=spin report=100"\n'
        sent[name] = content.encode()
    sent["guest.elf"] = (TOP / "build" / "guests" / "x86" / "guest.elf").read_bytes()
    sent["hyperperiod-xen"] = (TOP / "build/xen-control/hyperperiod-xen").read_bytes()
    return sent


def ran(
    folder: Path,
    flavour: str,
    files: Files,
    script: str,
    pcpus: int,
    beside: Callable[[], Mapping[str, bytes]] | None = None,
) -> Mapping[str, bytes]:
    """What is left of a session on a machine with this Xen; it must have come to its end.

    With files `beside` the export the machine's clock counts instructions, so that times are exact.
    """
    if not shutil.which(SYSTEM):
        pytest.skip(f"{SYSTEM}: not found; apt-get install qemu-system-x86")
    xen = xen_images.image(flavour)
    xen_images.tools()
    make("tests/stack/Makefile")
    sent = {**session(files, script), **(beside() if beside else {})}
    machine = Machine(xen, xen_images.dom0(), pcpus, exact=beside is not None, boot_line=DOM0)
    done = machine.run(folder, sent, LIMIT_S)
    assert done.results.get("done") == b"well\n", done.log[-3000:]
    return done.results


@pytest.mark.slow
@pytest.mark.parametrize("target", ["xen-rtds", "xen-null"])
def test_xens_own_schedulers_are_set_up(tmp_path: Path, target: str) -> None:
    """Pools, parameters and guests that run, on Xen without our series; the pools outlive them."""
    host = HOSTS[target]
    files = host.files(host.judged(system()), None)
    found = ran(tmp_path, "x86_64-stock", files, STOCK_SESSION, 4)
    pools = {line.split()[0]: line.split()[2] for line in found["pools"].decode().splitlines()[1:]}
    names = ["s"] if target == "xen-rtds" else ["s-0", "s-1"]
    assert pools == {"Pool-0": "credit2", **dict.fromkeys(names, target.removeprefix("xen-"))}
    rows = [line.split() for line in found["servers"].decode().splitlines()]
    servers = [(row[0], row[2:]) for row in rows if row[0] in ("control", "video")]
    if target == "xen-rtds":
        video = ("video", ["20000", "7500", "no"])
        assert servers == [
            ("control", ["0", "10000", "2000", "no"]),
            *((video[0], [number, *video[1]]) for number in ("0", "1")),
        ]
    else:
        assert not servers
    if target == "xen-rtds":
        printed = tmp_path / "printed"
        printed.write_bytes(found["pools"] + found["servers"])
        again, judged = load_system(printed), host.judged(system())
        assert again.pcpus == judged.pcpus
        assert [one.interface for one in again.domains] == [one.interface for one in judged.domains]
    listed = [line.split() for line in found["list"].decode().splitlines()]
    homes = {(row[0], row[2]): row[3] for row in listed if row[0] in ("control", "video")}
    assert len(homes) == 3
    assert "0" not in homes.values()
    assert target == "xen-rtds" or len(set(homes.values())) == 3
    assert not any(name in found["list-after"] for name in (b"control", b"video"))


@pytest.mark.slow
def test_partitions_have_their_windows_under_arinc653(tmp_path: Path) -> None:
    """Shares, and the longest time without the pcpu, as the table says: 40 ms, of which flight has
    5 and 5, radio 10 and maintenance 15; medians of what guests report, a tenth of a second each.
    """
    need_exact_clock()
    host = HOSTS["xen-arinc653"]
    partitions = load_system(TOP / "docs" / "examples" / "partitions.toml")
    files = host.files(host.judged(partitions), None)
    found = ran(tmp_path, "x86_64-stock", files, TABLE_SESSION, 2, python_of_dom0)
    assert found["pools"].decode().splitlines()[2].split()[:3] == ["partitions", "1", "arinc653"]
    expected = {"flight": (10 / 40, 15), "radio": (10 / 40, 30), "maintenance": (15 / 40, 25)}
    for name, (share, gap_ms) in expected.items():
        log = found[f"guest-{name}.log"].decode().splitlines()
        lines = [dict(re.findall(r"(\w+)=(\d+)", line)) for line in log if "longest_ns" in line]
        reports = [{key: int(value) for key, value in one.items()} for one in lines]
        assert len(reports) > 50, log
        reports = reports[-40:-10]  # while dom0 is quiet
        first, last = reports[0], reports[-1]
        got_ns, elapsed_ns = (last[key] - first[key] for key in ("got_ns", "elapsed_ns"))
        told = f"{name}: {got_ns / elapsed_ns}, {[one['longest_ns'] for one in reports]}"
        assert got_ns / elapsed_ns == pytest.approx(share, abs=0.01), told
        assert median(one["longest_ns"] for one in reports) / MS == pytest.approx(gap_ms, abs=1), (
            told
        )


@pytest.mark.slow
def test_the_commands_bring_the_system_up_and_end_it(tmp_path: Path) -> None:
    results = ran(tmp_path, "x86_64", export_xl(system()), SESSION, 2)
    assert results["again"] == b"nothing to change\n"
    servers = {name: json.loads(results[f"{name}.json"]) for name in ("control", "video", "rest")}
    assert [vcpu["best_effort"] for vcpu in servers["rest"]["vcpus"]] == [True]
    (control,) = servers["control"]["vcpus"]
    assert (control["period_ns"], control["budget_ns"]) == (10 * MS, 2 * MS)
    assert control["priority"] == 0
    for vcpu in servers["video"]["vcpus"]:
        assert (vcpu["period_ns"], vcpu["budget_ns"]) == (20 * MS, 7_500_000)
        assert vcpu["priority"] == 1
    assert len(servers["video"]["vcpus"]) == 2
    assert b'"policy": "wcps"' in results["pool.json"]
    assert all(name in results["list"] for name in (b"control", b"video", b"rest"))
    assert not any(name in results["list-after"] for name in (b"control", b"video"))
    assert b"\ns " not in results["pools-after"]
