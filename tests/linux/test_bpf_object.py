# SPDX-License-Identifier: BSD-2-Clause
"""The BPF object of the Linux host has all that its interface names; a warning is an error."""

import re

from tests.building import TOP
from tests.linux.on_linux import need_linux


def test_all_requests_that_the_interface_names_are_there() -> None:
    symbols = (need_linux() / "hyperperiod.bpf.o").read_bytes()
    text = (TOP / "hosts/linux/shared.h").read_text()
    requests = re.findall(r"^ \*   (lx_\w+) +struct lx_\w+ ", text, re.MULTILINE)
    assert len(requests) == 7
    for name in [*requests, "hyperperiod_ops", "hyperperiod_switch", "server_of_cgroup"]:
        assert name.encode() + b"\0" in symbols
