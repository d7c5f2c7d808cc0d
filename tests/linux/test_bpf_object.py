# SPDX-License-Identifier: BSD-2-Clause
"""The BPF object of the Linux host has what its interface names, and leaves the verifier room."""

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from bench.stack import depths
from tests.support.building import TOP
from tests.support.on_linux import need_linux

MOST_INSTRUCTIONS = 200_000
MOST_STACK_BYTES = 400
FRAMES = 6
REQUESTS = re.findall(
    r"^ \*   (lx_\w+) +struct lx_\w+ ", (TOP / "hosts/linux/shared.h").read_text(), re.MULTILINE
)


def bpf_object() -> Path:
    return need_linux() / "hyperperiod.bpf.o"


def test_all_that_the_interface_names_is_there() -> None:
    symbols = bpf_object().read_bytes()
    assert len(REQUESTS) == 7
    for name in [*REQUESTS, "hyperperiod_ops", "hyperperiod_switch", "server_of_cgroup"]:
        assert name.encode() + b"\0" in symbols


def test_no_program_takes_too_much_stack() -> None:
    if not shutil.which("llvm-objdump-19"):
        pytest.skip("llvm-19 is not installed")
    programs = {
        name: depth
        for name, depth in depths(bpf_object()).items()
        if name.startswith(("lx_", "hyperperiod_"))
    }
    assert programs.keys() >= {*REQUESTS, "hyperperiod_dispatch", "hyperperiod_switch"}
    assert max(depth.stack_bytes for depth in programs.values()) <= MOST_STACK_BYTES
    assert max(depth.frames for depth in programs.values()) == FRAMES


def test_this_kernels_verifier_takes_what_needs_no_sched_ext(tmp_path: Path) -> None:
    """The requests reach no function that only a kernel with sched_ext has."""
    if not Path("/usr/include/bpf/libbpf.h").exists():
        pytest.skip("libbpf-dev is not installed")
    program = tmp_path / "verify"
    source = TOP / "tests/linux/verify.c"
    command = ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", str(program), str(source)]
    subprocess.run([*command, "-lbpf", "-lelf", "-lz"], check=True)
    done = subprocess.run([program, bpf_object()], capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip("this machine does not let us load BPF programs")
    assert done.returncode == 0, done.stderr
    looked_at = dict(line.split() for line in done.stdout.splitlines())
    assert looked_at.keys() == {*REQUESTS, "hyperperiod_switch", "hyperperiod_end"}
    assert max(map(int, looked_at.values())) <= MOST_INSTRUCTIONS


LAYOUT = (3, "fcd6318440d894a9")
"""The number of the layout, and what it was given for."""


def test_another_layout_has_another_number() -> None:
    """A daemon takes over what one before it has left if the number is the same. So a change of
    what the two halves agree on has to count it up; then the other half of the pair is new too."""
    texts = [(TOP / name).read_text() for name in ("hosts/linux/shared.h", "record/ring.h")]
    code = re.sub(r"/\*.*?\*/|\s+", " ", " ".join(texts), flags=re.DOTALL)
    number = int(re.findall(r"#define LX_LAYOUT (\d+)u", code)[0])
    words = " ".join(code.replace(f"LX_LAYOUT {number}u", "LX_LAYOUT").split())
    assert (number, hashlib.sha256(words.encode()).hexdigest()[:16]) == LAYOUT
