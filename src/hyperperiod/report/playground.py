# SPDX-License-Identifier: BSD-2-Clause
"""The way from a report to the playground: the page beside it, and an address in it.

The playground (docs/playground.py makes it) is a file of its own, `resources.PLAYGROUND`, where the
package has it. A copy goes beside a report, and the report's link to it holds the whole system.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from hyperperiod import resources
from hyperperiod.analysis import resolve
from hyperperiod.hosts.described import describe
from hyperperiod.model import InputError, MissingError, System
from hyperperiod.whole_file import whole_file

MOST_VCPUS: Final = 64
"""On one pcpu, or of one policy for all pcpus: the module has no larger engine."""
BESIDE: Final = "hyperperiod-playground.html"
"""The name of a copy: one that nobody's own file has, whose place a newer copy may take."""


def parts_of(system: System, file: str, seed: int = 1) -> list[dict[str, Any]]:
    """The parts of a system as the page is told them: `describe`, with its interfaces computed.

    The page chooses how long a run is. InputError about `file` for what the simulator or the page
    does not run.
    """
    if system.major_frame_ns is not None:
        raise InputError(file, None, "policy", "table", "a policy with servers")
    parts = describe(resolve(system), 1, seed)
    parts[0] |= {"horizon_ns": None, "seed": str(seed)}  # a text: in pages numbers end at 2^53
    vcpus = Counter(one["pcpu"] for one in parts if one["part"] in ("add_vcpu", "add_change"))
    vcpus.pop(None, None)
    if (most := max(vcpus.values())) > MOST_VCPUS:
        raise InputError(file, None, "vcpus", f"{most} on one pcpu", f"at most {MOST_VCPUS}")
    return parts


def address(page: str, system: Mapping[str, Any]) -> str:
    """The address of a system, its name with its parts, in the playground at `page`."""
    packed = base64.b64encode(json.dumps(system).encode()).decode()
    return f"{quote(page)}#&system={packed}"


def open_in_playground(report: Path, system: System | None, seed: int | None = None) -> str | None:
    """Puts the playground beside a report; returns the address there of its system, with this seed.

    None where the package has no playground or the page cannot run the system, where the report is
    no plain file (/dev/stdout), or where there is no room for both.
    """
    is_plain = not report.is_symlink() and (report.is_file() or not report.exists())
    if system is None or not is_plain or not resources.PLAYGROUND.is_file():
        return None
    with suppress(InputError, MissingError, OSError):
        parts = parts_of(system, system.name, 1 if seed is None else seed)
        made, beside = resources.PLAYGROUND.read_bytes(), report.with_name(BESIDE)
        if not beside.exists() or beside.read_bytes() != made:
            with whole_file(str(beside), "--report") as draft:
                assert draft is not None, "a file was named"
                draft.write_bytes(made)
        return address(BESIDE, {"name": system.name, "parts": parts})
    return None
