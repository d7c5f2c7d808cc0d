# SPDX-License-Identifier: BSD-2-Clause
"""Where the things are that a machine needs: hypervisors and guests that were built, tools.

`hyperperiod.resources.build_folder` says where what was built is. What is not there is a
MissingError with the command that brings it.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from hyperperiod.model import MissingError
from hyperperiod.resources import build_folder

QEMU = "qemu-system-aarch64"
DTC = "dtc"
PACKAGES = {QEMU: "qemu-system-arm", DTC: "device-tree-compiler"}
"""Which Debian or Ubuntu package has a tool."""


def hypervisor(variant: str = "arm64") -> Path:
    """Xen: `arm64` (ours), `arm64-debug` (ours, with assertions), `arm64-stock` (its peers)."""
    return _built(f"xen/{variant}/xen", f"the hypervisor (Xen for {variant})", variant)


def executive() -> Path:
    """The bare-metal guest that runs the tasks of a domain."""
    what = "the program that runs a domain's tasks inside its VM"
    return _built("guests/executive.bin", what, "arm64")


def tool(name: str) -> Path:
    """The path of a program; MissingError where it is not installed."""
    found = shutil.which(name)
    if found is None:
        raise MissingError(f"{name} is not installed", f"apt-get install {PACKAGES[name]}")
    return Path(found)


def _built(place: str, what: str, target: str) -> Path:
    path = build_folder() / place
    if not path.is_file():
        raise MissingError(
            f"{what} is not built yet: there is no {path}", f"hyperperiod xen build {target}"
        )
    return path
