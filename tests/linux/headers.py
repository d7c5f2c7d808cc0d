# SPDX-License-Identifier: BSD-2-Clause
"""Where the headers of a kernel with sched_ext are, for tests that compile BPF programs.

They are installed (Debian's linux-bpf-dev and libbpf-dev), or unpacked in a folder that
HYPERPERIOD_LINUX_HEADERS names.
"""

import os
import shutil
from pathlib import Path

import pytest


def headers() -> Path:
    """The folder that holds usr/include; skips the test where there is none, or no clang."""
    if not shutil.which("clang-19"):
        pytest.skip("clang-19 is not installed")
    folder = Path(os.environ.get("HYPERPERIOD_LINUX_HEADERS", "/"))
    if not list(folder.glob("usr/include/*/linux/bpf/vmlinux.h")):
        pytest.skip("linux-bpf-dev is not installed")
    return folder
