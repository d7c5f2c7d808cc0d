# SPDX-License-Identifier: BSD-2-Clause
"""Traces that other tools print as text: files of trace-cmd, and folders in the form of LTTng.

The tool runs beside us, and its text is read as it comes. What it says of lost events on standard
error stands among its lines, at its place.
"""

from __future__ import annotations

import io
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hyperperiod.model.errors import InputError, MissingError

TRACE_DAT = b"\x17\x08\x44tracing"
"""How a file of trace-cmd begins, in all its versions."""
_KERNEL_TRACES = ("kernel", ".")
"""Where the kernel's trace is in a folder of LTTng's: in that of a session, or in its own."""


@contextmanager
def printed_file(name: str) -> Iterator[io.BufferedReader]:
    """The text of a file of trace-cmd."""
    # All digits of times, and flags. A name may begin with a dash.
    with _printed(name, ["trace-cmd", "report", "-t", "-l", "-i", name], "trace-cmd") as text:
        yield text


@contextmanager
def printed_folder(name: str, allowed: str) -> Iterator[io.BufferedReader]:
    """The text of a folder that LTTng wrote; InputError, which says what is allowed, for others."""
    traces = [Path(name).absolute() / one for one in _KERNEL_TRACES]
    found = next((one for one in traces if (one / "metadata").is_file()), None)
    if found is None:
        raise InputError(name, None, "", "a folder without a trace of the kernel in it", allowed)
    # By lines, so that what is lost is said at its place.
    words = ["stdbuf", "-oL", "babeltrace2", "--clock-seconds", str(found)]
    with _printed(name, words, "babeltrace2") as text:
        yield text


@contextmanager
def _printed(name: str, words: Sequence[str], tool: str) -> Iterator[io.BufferedReader]:
    """What a tool prints; MissingError without it, InputError if it fails at the end."""
    if shutil.which(tool) is None:
        raise MissingError(f"{tool}, which prints {name}, is not there", f"apt-get install {tool}")
    with subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert isinstance(process.stdout, io.BufferedReader), "it has a buffer unless told not to"
        yield process.stdout
    if process.returncode > 0:  # below 0: nobody read on
        raise InputError(name, None, "", f"what {tool} cannot read", f"a trace that {tool} prints")
