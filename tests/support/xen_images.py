# SPDX-License-Identifier: BSD-2-Clause
"""Hypervisors and guests for tests: built when they are asked for, or the test is skipped.

Tests run in several processes at once; whoever comes first builds, the others wait. What is
there already costs a second.
"""

import functools
from pathlib import Path

import pytest

from hyperperiod.cli.progress import bar
from hyperperiod.hosts.build_job import BuildJob
from hyperperiod.hosts.xen.build import dom0 as dom0_image
from hyperperiod.hosts.xen.build.targets import build
from hyperperiod.model import GuestKind, MissingError

TOP = Path(__file__).parents[2]


@functools.cache
def image(flavour: str) -> Path:
    """A hypervisor: arm64 or x86_64, as it is or with -debug or -stock behind it."""
    return _build(flavour)


@functools.cache
def guest(name: str = "executive.bin") -> Path:
    """A bare-metal guest for arm64, by its file name in build/guests."""
    return _build("guests").with_name(name)


@functools.cache
def tools(target: str = "tools") -> Path:
    """hyperperiod-xen, the tool for dom0 here or (tools-arm64) on a board."""
    return _build(target)


@functools.cache
def dom0(arch: dom0_image.Architecture = dom0_image.AMD64) -> dom0_image.Image:
    """A dom0 of Debian's for the stack."""
    try:
        dom0_image.need_tools()
        return dom0_image.Image.of(
            dom0_image.build(BuildJob(TOP / "build", None, bar), arch).parent
        )
    except MissingError as error:
        pytest.skip(f"no dom0: {error}")


@functools.cache
def xl() -> Path:
    """xl of the series of patches; its libraries and xenalyze are in the same folder."""
    return _build("xl")


@functools.cache
def linux_guest(kind: GuestKind = GuestKind.LINUX) -> Path:
    """The folder with kernel and initial file system of a Linux guest."""
    return _build(f"{kind}-guest")


def _build(target: str) -> Path:
    """What a target makes; a tool that the machine lacks is a reason to skip."""
    try:
        return build(BuildJob(TOP / "build", None, bar), [target])[target]
    except MissingError as error:
        pytest.skip(str(error))
