# SPDX-License-Identifier: BSD-2-Clause
"""The BPF object of the Linux host compiles without a warning, and has what its interface names."""

import re
import subprocess
from pathlib import Path

from tests.building import TOP
from tests.linux.headers import headers


def build(folder: Path) -> Path:
    """The object, built into a folder."""
    command = ["make", "--silent", "-f", "hosts/linux/Makefile"]
    command += [f"HEADERS={headers()}", f"OUT={folder}"]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr
    return folder / "hyperperiod.bpf.o"


def test_all_requests_that_the_interface_names_are_there(tmp_path: Path) -> None:
    symbols = build(tmp_path).read_bytes()
    text = (TOP / "hosts/linux/shared.h").read_text()
    requests = re.findall(r"^ \*   (lx_\w+) +struct lx_\w+ ", text, re.MULTILINE)
    assert len(requests) == 7
    for name in [*requests, "hyperperiod_ops", "hyperperiod_switch", "server_of_cgroup"]:
        assert name.encode() + b"\0" in symbols
