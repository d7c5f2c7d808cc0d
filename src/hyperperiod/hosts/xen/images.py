# SPDX-License-Identifier: BSD-2-Clause
"""Where the things are that a machine needs: hypervisors and guests that were built, tools.

What was built is in `build/` of the checkout, or where HYPERPERIOD_BUILD says. What is not there
is a MissingError with the command that brings it.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from hyperperiod.model import MissingError

QEMU = "qemu-system-aarch64"
DTC = "dtc"
PACKAGES = {QEMU: "qemu-system-arm", DTC: "device-tree-compiler"}
"""Which Debian or Ubuntu package has a tool."""

BUILD_VARIABLE = "HYPERPERIOD_BUILD"


def build_folder() -> Path:
    """Where `make` puts what it builds."""
    named = os.environ.get(BUILD_VARIABLE)
    if named:
        return Path(named)
    # src/hyperperiod/hosts/xen/images.py: the checkout is five levels up.
    return Path(__file__).resolve().parents[4] / "build"


def hypervisor(variant: str = "arm64") -> Path:
    """Xen: `arm64` (ours), `arm64-debug` (ours, with assertions), `arm64-stock` (its peers)."""
    command = "make xen" + variant.removeprefix("arm64")
    return _built(f"xen/{variant}/xen", f"Xen for {variant}", command)


def executive() -> Path:
    """The bare-metal guest that runs the tasks of a domain."""
    return _built("guests/executive.bin", "the executive for guests", "make xen")


def tool(name: str) -> Path:
    """A program on the path."""
    found = shutil.which(name)
    if found is None:
        raise MissingError(f"{name} is not installed", f"apt-get install {PACKAGES[name]}")
    return Path(found)


def _built(place: str, what: str, command: str) -> Path:
    path = build_folder() / place
    if not path.is_file():
        raise MissingError(f"{what} is not built ({path})", command)
    return path
