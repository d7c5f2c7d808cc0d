# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod assurance`: a folder for a safety case."""

from __future__ import annotations

import hashlib
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from hyperperiod.analysis.analyze import Analysis
from hyperperiod.analysis.certificate import certificate_text, certify
from hyperperiod.cli import complete
from hyperperiod.cli.group import EXIT_MISSED
from hyperperiod.cli.options import out_option, system_argument
from hyperperiod.cli.progress import status
from hyperperiod.cli.systems import about, certified_file, read_system
from hyperperiod.model.errors import InputError, MissingError

if TYPE_CHECKING:
    from hyperperiod.hosts.result import RunResult
    from hyperperiod.report.assurance import Checked

PATIENCE_S = 600.0
SYSTEM, CERTIFICATE = "system.toml", "certificate.json"


@click.command()
@system_argument
@out_option
@click.option(
    "--checker",
    "checkers",
    multiple=True,
    metavar="COMMAND",
    help="Have this check the certificate, as hyperperiod-check; may be given again.",
)
@click.option(
    "--run",
    "runs",
    multiple=True,
    metavar="FILE",
    shell_complete=complete.files,
    help="Show what this run saw (the --json of run or simulate); may be given again.",
)
@click.pass_context
def assurance(
    ctx: click.Context,
    system_file: str,
    folder: str,
    checkers: tuple[str, ...],
    runs: tuple[str, ...],
) -> None:
    """The exit code is 0 only if all that is promised is certified, every checker accepts that and
    no run speaks against it; 1 if something is open, which the page names.
    """
    from hyperperiod.export import write_folder
    from hyperperiod.report.assurance import Assurance

    system = read_system(system_file, None)
    file = certified_file(system_file, "SYSTEM")
    programs = [_program(command) for command in checkers]
    seen = [_read_run(name, system.name) for name in runs]
    with about(system_file), status(f"{system.name}: analyzing"):
        analysis = Analysis(system)
        result = analysis.result()
        certificate = certify(analysis, result, file)
    files = {SYSTEM: file, CERTIFICATE: certificate_text(certificate).encode()}
    with status(f"{system.name}: checking"):
        checked = _checked(programs, files)
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    found = Assurance(analysis.resolution.known(), result, certificate, checked, seen, digests)
    pages = {"assurance.md": found.page(), "argument.svg": found.picture()}
    write_folder(Path(folder), {**files, **pages}, {"assurance of": system.name})
    for gap in found.gaps:
        click.echo(f"open: {gap}")
    click.echo(f"assurance of {system.name}: {Path(folder) / 'assurance.md'}")
    if not found.is_whole:
        ctx.exit(EXIT_MISSED)


def _read_run(name: str, system: str) -> RunResult:
    from hyperperiod.hosts.result import RunResult

    run = RunResult.from_file(name)
    if run.system != system:
        raise InputError(name, None, "system", repr(run.system), f"a run of {system!r}")
    return run


class _Program(NamedTuple):
    """A command, the words of it, and the file that says what it does: of `python3 FILE` that."""

    command: str
    words: Sequence[str]
    file: Path


def _program(command: str) -> _Program:
    """The program that a command runs; InputError for no command, MissingError for no program."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError("", None, "--checker", f"{command!r}: {error}", "a command") from None
    if not words:
        raise InputError("", None, "--checker", "nothing", "a command, as hyperperiod-check")
    found = shutil.which(words[0])
    if found is None:
        install = "make checker" if words[0].endswith("hyperperiod-check") else ""
        raise MissingError(f"--checker: no program {words[0]}", install)
    script = next((word for word in words[1:] if Path(word).is_file()), None)
    return _Program(command, words, Path(script or found))


def _checked(programs: Sequence[_Program], files: Mapping[str, bytes]) -> list[Checked]:
    """Runs each program on the system and its certificate, `files` by their names.

    Returns what each printed and how it ended, in the order of the programs: the page shows them.
    """
    with tempfile.TemporaryDirectory() as temporary:
        paths = [Path(temporary) / name for name in (SYSTEM, CERTIFICATE)]
        for path in paths:
            path.write_bytes(files[path.name])
        return [_answer(program, paths) for program in programs]


def _answer(program: _Program, paths: Sequence[Path]) -> Checked:
    from hyperperiod.report.assurance import Checked

    command, digest = program.command, hashlib.sha256(program.file.read_bytes()).hexdigest()
    try:
        done = subprocess.run(
            [*program.words, *map(str, paths)],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=PATIENCE_S,
        )
    except subprocess.TimeoutExpired:
        return Checked(command, digest, 124, f"nothing within {PATIENCE_S:.0f} s")
    except OSError as error:
        found = f"{command!r}: {error.strerror}"
        raise InputError("", None, "--checker", found, "a program") from None
    said = " ".join((done.stdout + done.stderr).split())
    return Checked(command, digest, done.returncode, said)
