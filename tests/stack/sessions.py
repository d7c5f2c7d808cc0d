# SPDX-License-Identifier: BSD-2-Clause
"""Sessions on the whole machine, each run once however many tests look at it.

Tests run in several processes, so a session's results are kept as files beside the tests' own
folders: whoever comes first boots the machine, the others wait and read.
"""

from __future__ import annotations

import pickle
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from tests.support.building import make, once, shared_folder
from tests.support.xen_images import dom0, image, tools

from hyperperiod.hosts.xen.dom0_machine import DOM0, Machine, Ran, require_exact_clock
from hyperperiod.hosts.xen.images import QEMU_X86
from hyperperiod.model import MissingError

TOP = Path(__file__).parents[2]
SCENARIOS = Path(__file__).parent / "scenarios"
CALAMITIES = re.compile(r"Assertion .* failed|Xen BUG|Panic on CPU|FATAL|Xen WARN|Hardware Dom0")
"""Lines of Xen's console that say that it failed: a session whose console has one is a failure."""
PROGRAMS = (
    "build/guests/x86/guest.elf",
    "build/xen-control/hyperperiod-xen",
    "build/stack/fuzz",
)
TOOLS = {
    QEMU_X86: "qemu-system-x86",
    "dpkg-deb": "dpkg",
    "apt-get": "apt",
    "readelf": "binutils",
    "gcc": "gcc",
    "make": "make",
}


def need_tools(tools: Mapping[str, str] = TOOLS) -> None:
    """Skips a test where a tool of the stack is missing; the values are their packages."""
    for tool, package in tools.items():
        if not shutil.which(tool):
            pytest.skip(f"{tool}: not found; apt-get install {package}")


def need_exact_clock() -> None:
    """Skips a test that counts instructions where QEMU cannot do that with Xen for x86."""
    try:
        require_exact_clock()
    except MissingError as error:
        pytest.skip(str(error))


def run_session(
    factory: pytest.TempPathFactory,
    name: str,
    scenarios: Iterable[str],
    *,
    flavour: str = "x86_64-debug",
    files: dict[str, bytes] | None = None,
    boot_line: str = "",
    rounds: int = 1,
    pcpus: int = 4,
    exact: bool = False,
    limit_s: int = 1800,
) -> Ran:
    """Runs the scenarios in one boot, or returns what an earlier call of this name got.

    What scenarios do again and again they do `rounds` times.
    """
    need_tools()
    if exact:
        need_exact_clock()
    folder = shared_folder(factory) / f"stack-{name}"

    def boot(kept: Path) -> None:
        folder.mkdir(exist_ok=True)
        xen = image(flavour)
        tools()
        make("tests/stack/Makefile")
        session = {path.name: path.read_bytes() for path in SCENARIOS.iterdir()}
        session |= {Path(path).name: (TOP / path).read_bytes() for path in PROGRAMS}
        session |= {"names": "".join(f"{one}\n" for one in scenarios).encode()}
        session |= {"rounds": f"{rounds}\n".encode(), **(files or {})}
        machine = Machine(xen, dom0(), pcpus, exact, f"{DOM0} {boot_line}")
        kept.write_bytes(pickle.dumps(machine.run(folder, session, limit_s)))

    ran: Ran = pickle.loads(once(factory, f"stack-{name}.ran", boot).read_bytes())
    return ran
