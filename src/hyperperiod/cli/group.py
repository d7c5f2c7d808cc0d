# SPDX-License-Identifier: BSD-2-Clause
"""Where every error ends: one place that turns exceptions into a message and an exit code.

No command shows a traceback. A mistake in this program says so, and how to see more
(HYPERPERIOD_DEBUG=1), and ends with 70, which no script takes for a verdict; so does a machine
that broke down during a run. What cannot be written because of the machine (a full disk, a closed
standard output) ends with 3; a standard error that takes nothing changes no exit code.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

EXIT_WELL = 0
EXIT_MISSED = 1
EXIT_BAD_INPUT = 2
EXIT_LACKS = 3
EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130
# The parts that a compiler makes; all others are always there.
NATIVE_MODULES = tuple(
    f"hyperperiod.{name}" for name in ("_rules", "_sim", "_analysis", "_check", "_convert")
)
# Why a write fails. Errors from writing files name them, so what has no name is standard output.
WRITE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
# What a program ends with whose reader went away: 128 + SIGPIPE.
EXIT_NO_READER = 141


class ErrorGroup(click.Group):
    """The outermost group: runs a command and maps what it raises."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        def run() -> Any:
            return super(ErrorGroup, self).main(args, prog_name, complete_var, False, **extra)

        if not standalone_mode:
            return run()
        code = _guarded(run)
        _drop_what_nobody_takes()
        return sys.exit(code)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            try:
                result = super().invoke(ctx)
            except click.exceptions.Exit as leaving:
                result = leaving.exit_code
            # Whatever the verdict is: it has been written, or it is said that it could not be.
            sys.stdout.flush()
        except BrokenPipeError:
            # The reader of our output (`| head`) has gone: nothing is wrong with us. Click would
            # end with 1, which here means a missed deadline.
            return EXIT_NO_READER
        return result


def _guarded(run: Callable[[], Any]) -> int:
    """Runs a command, and turns every error that it raises into an exit code."""
    has_output = sys.stdout is not None
    _open_closed_streams()
    _survive_odd_characters()
    if not has_output:
        _say("error: standard output is closed")
        return EXIT_LACKS
    try:
        code = run()
    except click.Abort:
        _say("interrupted")
        return EXIT_INTERRUPTED
    except Exception as error:
        return _report(error)
    return code if isinstance(code, int) else EXIT_WELL


def _open_closed_streams() -> None:
    """Streams that the caller has closed (`2>&-`) go nowhere; no file may take their place."""
    if None not in (sys.stdin, sys.stdout, sys.stderr):
        return
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(opened)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def _say(text: str) -> None:
    """Writes a line on standard error, if that can still be written to."""
    with contextlib.suppress(OSError):
        click.echo(text, err=True)


def _survive_odd_characters() -> None:
    """A name that the terminal cannot show is shown with '?', not with an error."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def _drop_what_nobody_takes() -> None:
    """What a stream still holds and cannot write goes nowhere.

    Python writes it once more at its end, and makes 120 of the exit code where that fails.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _unwritten(error: OSError) -> str:
    """A sentence about what the operating system refused, and for which file or stream."""
    from hyperperiod.whole_file import error_text

    name = error.filename
    if name is None and error.errno in WRITE_ERRORS:
        name = "standard output"
    return error_text(error) if name is None else f"{name}: {error_text(error)}"


def _report(error: Exception) -> int:
    """Say what happened on standard error; the exit code."""
    # Imported here: this is the only path on which a mere `--help` would need them.
    from hyperperiod.model.errors import FailedError, InputError, MissingError

    if isinstance(error, InputError):
        _say("\n".join(f"error: {problem}" for problem in error.problems))
        return EXIT_BAD_INPUT
    if isinstance(error, MissingError):
        _say(f"error: {error}")
        return EXIT_LACKS
    if isinstance(error, FailedError):
        _say(f"error: the run failed: {error}")
        return EXIT_INTERNAL
    if isinstance(error, click.ClickException):
        with contextlib.suppress(OSError):
            error.show()
        return EXIT_BAD_INPUT
    if isinstance(error, ModuleNotFoundError) and error.name in NATIVE_MODULES:
        _say(f"error: {error.name} is not built; build it with: make build")
        return EXIT_LACKS
    if isinstance(error, OSError):
        # A full disk, a file that vanished: the machine, not the input and not us.
        _say(f"error: {_unwritten(error)}")
        return EXIT_LACKS
    if os.environ.get("HYPERPERIOD_DEBUG"):
        raise error
    _say(
        f"internal error: {type(error).__name__}: {error}\n"
        "This is a mistake in hyperperiod. Run the command again with HYPERPERIOD_DEBUG=1 to see"
        " where, and report it together with the system file."
    )
    return EXIT_INTERNAL
