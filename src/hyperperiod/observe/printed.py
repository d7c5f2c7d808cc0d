# SPDX-License-Identifier: BSD-2-Clause
"""Traces that other tools print as text: files of trace-cmd, and folders in the form of LTTng.

The tool runs beside us, and its text is read as it comes. What trace-cmd says of lost events is
among its lines. babeltrace2 says it on standard error, which is read together with them.
"""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hyperperiod.model.errors import InputError, MissingError
from hyperperiod.observe.events import shown

TRACE_DAT = b"\x17\x08\x44tracing"
"""How a file of trace-cmd begins, in all its versions."""
_KERNEL_TRACES = ("kernel", ".")
"""Where the kernel's trace is in a folder of LTTng's: in that of a session, or in its own."""
_PACKAGES = {"trace-cmd": "trace-cmd", "stdbuf": "coreutils", "babeltrace2": "babeltrace2"}


@contextmanager
def printed_file(name: str) -> Iterator[io.BufferedReader]:
    """The text of a file of trace-cmd."""
    # All digits of times, flags, and events as the kernel of that time writes them. The name may be
    # that of our standard input, which the tool does not have.
    words = ["trace-cmd", "report", "-t", "-l", "-N", "-i", os.path.realpath(name)]
    with _printed(name, words, merges=False) as text:
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
    with _printed(name, words, merges=True) as text:
        yield text


@contextmanager
def _printed(name: str, words: Sequence[str], *, merges: bool) -> Iterator[io.BufferedReader]:
    """What a tool prints, with `merges` on standard error as well; MissingError without the tool,
    InputError with its words if it fails. It ends here, also where nobody reads on."""
    for tool in (one for one in words if one in _PACKAGES):
        if shutil.which(tool) is None:
            install = f"apt-get install {_PACKAGES[tool]}"
            raise MissingError(f"{tool}, which prints {name}, is not there", install)
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merges else errors,
            # Colours of babeltrace2's warnings, which --color=never leaves.
            env=os.environ | {"BABELTRACE_TERM_COLOR": "never"},
        ) as process,
    ):
        assert isinstance(process.stdout, io.BufferedReader), "it has a buffer unless told not to"
        code = 0
        try:
            yield process.stdout
            if not process.stdout.read(1):  # else nobody reads on
                code = process.wait()
        finally:
            process.kill()
        if code:
            errors.seek(0)
            said = shown(" ".join(errors.read(400).decode("utf-8", "replace").split()))
            ended = signal.strsignal(-code) if code < 0 else f"exit code {code}"
            found = f"what {tool} cannot read ({said or ended})"
            raise InputError(name, None, "", found, f"a trace that {tool} prints")
