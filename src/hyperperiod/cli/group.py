# SPDX-License-Identifier: BSD-2-Clause
"""Where every error ends: one place that turns exceptions into a message and an exit code.

No command shows a traceback. A mistake in this program says so, and how to see more
(HYPERPERIOD_DEBUG=1), and ends with 70, which no script takes for a verdict; so does a machine
that broke down during a run.
"""

from __future__ import annotations

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
NATIVE_MODULES = ("hyperperiod._sim", "hyperperiod._analysis")
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

        return sys.exit(_guarded(run)) if standalone_mode else run()

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # click would end with 1, which here means a missed deadline.
            return _no_reader()
        return result


def _guarded(run: Callable[[], Any]) -> int:
    """Run, and turn whatever comes into an exit code."""
    _survive_odd_characters()
    try:
        code = run()
    except click.Abort:
        click.echo("interrupted", err=True)
        return EXIT_INTERRUPTED
    except Exception as error:
        return _report(error)
    return code if isinstance(code, int) else EXIT_WELL


def _survive_odd_characters() -> None:
    """A name that the terminal cannot show is shown with '?', not with an error."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def _no_reader() -> int:
    """The reader of our output (`| head`) has gone: nothing is wrong with us."""
    # Python flushes standard output once more at exit; let that go nowhere.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return EXIT_NO_READER


def _report(error: Exception) -> int:
    """Say what happened on standard error; the exit code."""
    # Imported here: this is the only path on which a mere `--help` would need them.
    from hyperperiod.model.errors import FailedError, InputError, MissingError

    if isinstance(error, InputError):
        click.echo("\n".join(f"error: {problem}" for problem in error.problems), err=True)
        return EXIT_BAD_INPUT
    if isinstance(error, MissingError):
        click.echo(f"error: {error}", err=True)
        return EXIT_LACKS
    if isinstance(error, FailedError):
        click.echo(f"error: the run failed: {error}", err=True)
        return EXIT_INTERNAL
    if isinstance(error, click.ClickException):
        error.show()
        return EXIT_BAD_INPUT
    if isinstance(error, ModuleNotFoundError) and error.name in NATIVE_MODULES:
        click.echo(f"error: {error.name} is not built; build it with: make build", err=True)
        return EXIT_LACKS
    if isinstance(error, OSError):
        # A full disk, a file that vanished: the machine, not the input and not us.
        click.echo(f"error: {error}", err=True)
        return EXIT_LACKS
    if os.environ.get("HYPERPERIOD_DEBUG"):
        raise error
    click.echo(
        f"internal error: {type(error).__name__}: {error}\n"
        "This is a mistake in hyperperiod. Run the command again with HYPERPERIOD_DEBUG=1 to see"
        " where, and report it together with the system file.",
        err=True,
    )
    return EXIT_INTERNAL
