# SPDX-License-Identifier: BSD-2-Clause
"""What this machine can do: one small probe per thing that some host or test needs.

A probe looks and never changes anything. Its answer is yes or no with what was found, and for a
no the command that brings it, on Debian and Ubuntu.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hyperperiod.resources import CHECKOUT, build_folder

OLDEST_PYTHON = (3, 11)
BPF_CLANG = 19

# bpf(2) has another number on every architecture.
_BPF_SYSCALL = {"x86_64": 321, "aarch64": 280}
_BPF_MAP_CREATE = 0
_BPF_MAP_TYPE_ARRAY = 2


@dataclass(frozen=True)
class ProbeResult:
    """One line of `doctor`: a thing, whether it works, what was found, what it is for."""

    name: str
    works: bool
    found: str
    needed_for: str
    install: str


@dataclass(frozen=True)
class Probe:
    """A thing to look for; `look` gives what was found, or None."""

    name: str
    needed_for: str
    install: str
    look: Callable[[], str | None]


def examine() -> list[ProbeResult]:
    """Returns what every probe of the machine found, in a fixed order."""
    findings = []
    for probe in PROBES:
        found = probe.look()
        works = found is not None
        install = "" if works else probe.install
        findings.append(
            ProbeResult(probe.name, works, found or "not found", probe.needed_for, install)
        )
    return findings


def _python() -> str | None:
    version = platform.python_version()
    return version if sys.version_info[:2] >= OLDEST_PYTHON else None


def _module(name: str) -> Callable[[], str | None]:
    def look() -> str | None:
        try:
            importlib.import_module(name)
        except ImportError:
            return None
        return name

    return look


def _program(names: Sequence[str], newest_line: str = "--version") -> Callable[[], str | None]:
    """The first of `names` on the path, with the version that it says it is."""

    def look() -> str | None:
        for name in names:
            path = shutil.which(name)
            if path is not None:
                return f"{path} {_version(path, newest_line)}".strip()
        return None

    return look


def _version(path: str, argument: str) -> str:
    try:
        output = subprocess.run(
            [path, argument], capture_output=True, text=True, timeout=10, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
    match = re.search(r"\d+\.\d+(\.\d+)?", output)
    return match.group() if match else ""


def _bpf_clang() -> str | None:
    for name in (f"clang-{BPF_CLANG}", "clang"):
        path = shutil.which(name)
        if path is None:
            continue
        version = _version(path, "--version")
        if version and int(version.split(".")[0]) >= BPF_CLANG:
            return f"{path} {version}"
    return None


def _bpf_call() -> str | None:
    """Returns whether this user may call bpf(): a one-entry array map is made and dropped."""
    number = _BPF_SYSCALL.get(platform.machine())
    if number is None:
        return None
    attributes = (ctypes.c_uint32 * 32)(_BPF_MAP_TYPE_ARRAY, 4, 4, 1)
    call = ctypes.CDLL(None, use_errno=True).syscall
    descriptor = call(number, _BPF_MAP_CREATE, attributes, ctypes.sizeof(attributes))
    if descriptor < 0:
        return None
    os.close(descriptor)
    return "allowed"


def _sched_ext() -> str | None:
    state = Path("/sys/kernel/sched_ext/state")
    try:
        return f"kernel {platform.release()}, {state.read_text().strip()}"
    except OSError:
        return None


def _kvm() -> str | None:
    return "/dev/kvm" if os.access("/dev/kvm", os.R_OK | os.W_OK) else None


def _built(place: str) -> Callable[[], str | None]:
    """Something in the folder of built things, and when that was."""

    def look() -> str | None:
        path = build_folder() / place
        if not path.is_file():
            return None
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(path.stat().st_mtime))
        return f"{path}, built {when}"

    return look


_APT = "apt-get install"
_BUILD = "make build" if CHECKOUT else "pip install --force-reinstall hyperperiod"
_PIP = "pip install 'hyperperiod"

PROBES = (
    Probe("python", "everything", f"{_APT} python3", _python),
    Probe("simulator", "simulate, compare, run --on sim", _BUILD, _module("hyperperiod._sim")),
    Probe("analysis kernels", "analyze", _BUILD, _module("hyperperiod._analysis")),
    Probe("solver", "fit", f"{_PIP}[fit]'", _module("ortools")),
    Probe("parquet", "trace convert to .parquet", f"{_PIP}[parquet]'", _module("pyarrow.parquet")),
    Probe("dask", "sweep on several cores", f"{_PIP}[sweep]'", _module("distributed")),
    Probe("textual", "linux top", f"{_PIP}[top]'", _module("textual")),
    Probe("trace-cmd", "observe trace.dat", f"{_APT} trace-cmd", _program(("trace-cmd",))),
    Probe("babeltrace2", "observe of LTTng", f"{_APT} babeltrace2", _program(("babeltrace2",))),
    Probe("C compiler", "building", f"{_APT} gcc", _program(("cc", "gcc"))),
    Probe("C++ compiler", "building", f"{_APT} g++", _program(("c++", "g++"))),
    Probe("make", "building", f"{_APT} make", _program(("make",))),
    Probe("clang for BPF", "BPF builds of the core", f"{_APT} clang-{BPF_CLANG}", _bpf_clang),
    Probe("bpf() allowed", "the kernel's verifier on the core", "run as root", _bpf_call),
    Probe(
        "sched_ext",
        "servers for this machine's own threads",
        "a kernel with CONFIG_SCHED_CLASS_EXT (6.16 or later)",
        _sched_ext,
    ),
    Probe("kvm", "fast virtual machines", "enable virtualization in the firmware", _kvm),
    Probe(
        "qemu for arm64",
        "run --on xen, run --on linux --kernel arm64",
        f"{_APT} qemu-system-arm",
        _program(("qemu-system-aarch64",)),
    ),
    Probe(
        "qemu for x86",
        "run --on linux, Xen with a toolstack",
        f"{_APT} qemu-system-x86",
        _program(("qemu-system-x86_64",)),
    ),
    Probe(
        "device tree compiler", "run --on xen", f"{_APT} device-tree-compiler", _program(("dtc",))
    ),
    Probe(
        "arm64 compiler",
        "building Xen and its guests",
        f"{_APT} gcc-aarch64-linux-gnu",
        _program(("gcc",) if platform.machine() == "aarch64" else ("aarch64-linux-gnu-gcc",)),
    ),
    Probe("bison", "building Xen", f"{_APT} bison", _program(("bison",))),
    Probe("flex", "building Xen", f"{_APT} flex", _program(("flex",))),
    Probe("git", "building Xen", f"{_APT} git", _program(("git",))),
    Probe("xen", "run --on xen", "hyperperiod xen build", _built("xen/arm64/xen")),
    Probe("xen guests", "run --on xen", "hyperperiod xen build", _built("guests/executive.bin")),
    Probe(
        "pcpus in step",
        "exact times of several pcpus in run --on xen",
        "hyperperiod xen build",
        _built("lockstep/lockstep.so"),
    ),
    Probe(
        "linux guest",
        'run --on xen of domains with guest = "linux"',
        "hyperperiod xen build linux-guest",
        _built("guests/linux/driver.cpio"),
    ),
    Probe(
        "linux-rt guest",
        'run --on xen of domains with guest = "linux-rt"',
        "hyperperiod xen build linux-rt-guest",
        _built("guests/linux-rt/driver.cpio"),
    ),
    Probe(
        "linux with sched_ext",
        "run --on linux",
        "hyperperiod linux build",
        _built("linux/initramfs.cpio"),
    ),
    Probe(
        "xen for x86",
        "Xen with a toolstack",
        "hyperperiod xen build x86_64",
        _built("xen/x86_64/xen"),
    ),
    Probe(
        "xen without us",
        "comparing with Xen's own schedulers",
        "hyperperiod xen build arm64-stock",
        _built("xen/arm64-stock/xen"),
    ),
    Probe(
        "browser",
        "tests of the HTML reports",
        f"{_APT} chromium",
        _program(("chromium", "chromium-browser", "google-chrome")),
    ),
)
