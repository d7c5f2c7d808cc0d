# SPDX-License-Identifier: BSD-2-Clause
"""Where every error ends: one place that turns exceptions into a message and an exit code.

A message is a line `error: FILE:LINE: KEY: found ...; allowed: ...` for each problem; a command
with `--json` prints an object that says the same.

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
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from hyperperiod.model.errors import Problem

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
        given = list(sys.argv[1:] if args is None else args)
        code = _guarded(run, as_json=_prints_json(self, given))
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


def _prints_json(group: click.Group, words: Sequence[str]) -> bool:
    """Returns whether a command line asks for JSON, be it right or wrong otherwise."""
    command: click.Command | None = group
    for word in words if "--json" in words else ():
        if not isinstance(command, click.Group):
            break
        try:
            command = command.get_command(click.Context(command), word) or command
        except ImportError:
            return True  # what the command lacks is said when it is run
    return command is not None and any(one.name == "as_json" for one in command.params)


def _guarded(run: Callable[[], Any], *, as_json: bool) -> int:
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
        return _end(EXIT_INTERRUPTED, "interrupted", as_json=as_json)
    except Exception as error:
        return _report(error, as_json=as_json)
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
    """Lets what a stream still holds and cannot write go nowhere.

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


def _report(error: Exception, *, as_json: bool) -> int:
    """Say what happened on standard error, and with `--json` on standard output; the exit code."""
    # Imported here: this is the only path on which the help of the program would need them.
    from hyperperiod.model.errors import FailedError, InputError, MissingError

    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        with contextlib.suppress(OSError):
            error.show()
        return EXIT_BAD_INPUT
    if isinstance(error, click.ClickException):
        error = InputError.of([_usage_problem(error)])
    if isinstance(error, InputError):
        lines = "\n".join(f"error: {problem}" for problem in error.problems)
        return _end(EXIT_BAD_INPUT, lines, error.problems, as_json=as_json)
    if isinstance(error, MissingError):
        return _end(EXIT_LACKS, f"error: {error}", as_json=as_json)
    if isinstance(error, FailedError):
        return _end(EXIT_INTERNAL, f"error: the run failed: {error}", as_json=as_json)
    if isinstance(error, ModuleNotFoundError) and error.name in NATIVE_MODULES:
        text = f"error: {error.name} is not built; build it with: make build"
        return _end(EXIT_LACKS, text, as_json=as_json)
    if isinstance(error, OSError):
        # A full disk, a file that vanished: the machine, not the input and not us.
        return _end(EXIT_LACKS, f"error: {_unwritten(error)}", as_json=as_json)
    if os.environ.get("HYPERPERIOD_DEBUG"):
        raise error
    text = (
        f"internal error: {type(error).__name__}: {error}\n"
        "This is a mistake in hyperperiod. Run the command again with HYPERPERIOD_DEBUG=1 to see"
        " where, and report it together with the system file."
    )
    return _end(EXIT_INTERNAL, text, as_json=as_json)


def _end(code: int, text: str, problems: Sequence[Problem] = (), *, as_json: bool) -> int:
    """Says why a command ended early, for people and, if asked, for programs; the exit code."""
    _say(text)
    if as_json:
        from hyperperiod.model.error_result import error_result

        message = f"\n{text}".replace("\nerror: ", "\n")[1:]
        with contextlib.suppress(OSError):
            click.echo(error_result(code, message, problems).to_json())
    return code


def _usage_problem(error: click.ClickException) -> Problem:
    """Returns what is wrong with a command line, in the form of all problems."""
    from hyperperiod.model.errors import Problem, did_you_mean

    context = error.ctx if isinstance(error, click.UsageError) else None
    help_text = f"what `{context.command_path if context else 'hyperperiod'} --help` says"
    if isinstance(error, click.NoSuchOption):
        near = did_you_mean(error.option_name, error.possibilities or ())
        return Problem("", None, error.option_name, "an unknown option", help_text + near)
    key, found = (
        "",
        (error.message[:1].lower() + error.message[1:].rstrip(".")).removeprefix("got "),
    )
    if isinstance(error, click.BadParameter) and error.param is not None:
        is_option = error.param.param_type_name == "option"
        key = error.param.opts[-1] if is_option else error.param.human_readable_name
    if isinstance(error, click.BadOptionUsage):
        key = error.option_name
        found = "no value" if "requires" in found else "a value"
    if isinstance(error, click.MissingParameter):
        found = "nothing"
    found, marker, allowed = found.removeprefix("found ").partition("; allowed: ")
    return Problem("", None, key, found, allowed if marker else help_text)
