# SPDX-License-Identifier: BSD-2-Clause
"""Commands that a run on Linux starts: tasks with a `command`, each in the server of its vcpu.

A command is found by PATH, as a shell does it. A machine in QEMU has none of this machine's files,
so it is given the program, the libraries that it loads and, of a script, the interpreter. All have
the paths that they have here, below a folder which the command takes for the root. A program that
this machine does not have, or has for other processors, may be one of busybox's, which are there as
well.

What comes of a command is said by the program that starts it (guests/linux/supervise.c).
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from hyperperiod.hosts.linux.outside import name_of
from hyperperiod.hosts.result import RunCommand
from hyperperiod.model import (
    Domain,
    InputError,
    MissingError,
    PlacedTask,
    Scheduler,
    System,
    tasks_of,
    vcpus_of,
)

ROOT: Final = "host"
"""The folder of the machine in QEMU that a command there takes for the root."""
PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""PATH of a command there."""
ELF: Final = b"\x7fELF"
ELF_MACHINE: Final = slice(18, 20)
ELF_MACHINES: Final = {"x86_64": b"\x3e\0", "aarch64": b"\xb7\0"}
"""What a program says of the processor that it is for."""
LIBRARY: Final = re.compile(r"^\s*(?:(\S+) => )?(/\S+|not found)", re.MULTILINE)
"""A library in what ldd says: `NAME => PATH (ADDRESS)`, or `PATH (ADDRESS)` for the loader."""
CACHE: Final = Path("/etc/ld.so.cache")
"""Where a loader looks for libraries first."""
HEAD_BYTES: Final = 256
WORDS_LIMIT: Final = 4000
BYTES_LIMIT: Final = 100_000
"""The longest command line that there is room for."""
FOLDER: Final = "commands"
"""Where what commands print is kept, in the folder of a run."""

PREPARE: Final = f"""\
for each in proc sys dev; do
    mkdir -p /{ROOT}/$each
    mount -o bind /$each /{ROOT}/$each
done
mkdir -p /{ROOT}/tmp /{ROOT}/bin
cp /bin/busybox /{ROOT}/bin/busybox
chroot /{ROOT} /bin/busybox --install -s /bin
"""
"""What a machine in QEMU does before its first command."""


class Program(NamedTuple):
    """A program that was found: its path, and the files that it needs, itself among them."""

    path: str
    files: frozenset[Path] = frozenset()


Programs = Mapping[str, Program]
"""The programs of commands, by their first words."""


def commands_of(system: System) -> list[PlacedTask]:
    """The tasks that are commands."""
    return [placed for placed in tasks_of(system) if placed.task.command is not None]


def has_commands(domain: Domain) -> bool:
    """Whether commands do the work of a domain, and not tasks of ours."""
    return any(task.command is not None for task in domain.tasks)


def refuse(system: System) -> None:
    """InputError for commands that cannot be scheduled as the system says."""
    for domain in system.domains:
        commands = [task for task in domain.tasks if task.command is not None]
        others = [task for task in domain.tasks if task.command is None]
        if commands and others:
            raise _wrong(
                system, domain.name, others[0].name, "none, beside commands",
                "a command of its own, or another domain: on Linux all tasks of a domain are"
                " commands, or none",
            )  # fmt: skip
        at = [task.vcpu or 0 for task in commands]
        if domain.scheduler is Scheduler.FP and len(set(at)) < len(at):
            raise InputError(
                system.name, None, f"domain {domain.name}: scheduler",
                '"fp" with several commands on a vcpu',
                '"fifo", or "fair" for turns: the threads of commands have priorities of their own',
            )  # fmt: skip
        for task in commands:
            words = task.command or ()
            if len(words) > WORDS_LIMIT or sum(len(word.encode()) for word in words) > BYTES_LIMIT:
                allowed = f"at most {WORDS_LIMIT} words with {BYTES_LIMIT} bytes"
                raise _wrong(system, domain.name, task.name, f"{len(words)} words", allowed)


def _wrong(system: System, domain: str, task: str, found: str, allowed: str) -> InputError:
    return InputError(system.name, None, f"domain {domain}: task {task}: command", found, allowed)


# --- programs ------------------------------------------------------------------------------------


def find(system: System, busybox: Path | None, machine: str = "x86_64") -> Programs:
    """The programs of a system's commands; `busybox` is that of a machine in QEMU, whose processor
    is a `machine`, None: here.

    InputError for one that is not there, MissingError without the tool that finds libraries.
    """
    found: dict[str, Program] = {}
    for placed in commands_of(system):
        name = (placed.task.command or ("",))[0]
        try:
            found[name] = _here(name) if busybox is None else _there(name, busybox, machine)
        except _AbsentError as absent:
            raise _wrong(
                system, placed.domain.name, placed.task.name, absent.found, absent.allowed
            ) from None
    return found


class _AbsentError(Exception):
    """There is no such program: what was found, what is allowed."""

    def __init__(self, found: str, allowed: str) -> None:
        super().__init__(found)
        self.found = found
        self.allowed = allowed


def _here(name: str) -> Program:
    path = shutil.which(name)
    if path is None:
        raise _AbsentError(repr(name), "a program of this machine, found by PATH")
    return Program(str(Path(path).absolute()))


def _there(name: str, busybox: Path, machine: str) -> Program:
    path = shutil.which(name)
    try:
        if path is None:
            raise _AbsentError(repr(name), "a program of this machine, found by PATH, or busybox's")
        # As its loader sees it, which may look for libraries beside it.
        real = Path(path).resolve()
        return Program(str(real), frozenset(_needed(real, machine)))
    except _AbsentError:
        if name in _applets(busybox):
            return Program(f"/bin/{name}")
        raise


def _needed(path: Path, machine: str) -> Iterator[Path]:
    """A program and the files without which it does not start."""
    yield path
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise _AbsentError(f"{path} ({error.strerror})", "a program that can be read") from None
    if head.startswith(b"#!"):
        for program in _interpreters(head, path):
            yield from _needed(program, machine)
    elif not head.startswith(ELF) or head[ELF_MACHINE] != ELF_MACHINES[machine]:
        raise _AbsentError(
            str(path), f"a program for {machine}, as the machine in QEMU is, or a script"
        )
    else:
        yield from _libraries(path, machine)


def _interpreters(head: bytes, script: Path) -> Iterator[Path]:
    """The programs that the first line of a script names; after `env` the one that it finds."""
    words = head[2:].split(b"\n")[0].decode(errors="replace").split()
    names = words[:2] if words and Path(words[0]).name == "env" else words[:1]
    if not names or not all(shutil.which(name) for name in names):
        raise _AbsentError(f"{script}, a script of {' '.join(names)!r}", "one of a program here")
    yield Path(words[0])
    yield from (Path(shutil.which(name) or name) for name in names[1:])


def _libraries(path: Path, machine: str) -> Iterator[Path]:
    """The loader and the libraries of a program; none if it is linked statically."""
    if platform.machine() != machine:
        raise _AbsentError(str(path), f"one of busybox's: this machine is {platform.machine()}")
    tool = shutil.which("ldd")
    if tool is None:
        raise MissingError(
            "ldd, which finds the libraries of commands, is not installed",
            "sudo apt-get install -y --no-install-recommends libc-bin",
        )
    said = subprocess.run([tool, path], capture_output=True, text=True, check=False).stdout
    for name, library in LIBRARY.findall(said):
        if library == "not found":
            raise _AbsentError(f"{path}, without its library {name}", "a program that starts here")
        yield Path(library)
    if CACHE.exists():
        yield CACHE


def _applets(busybox: Path) -> Sequence[str]:
    """The programs that are busybox's; none where it does not run, on a machine of another kind."""
    try:
        said = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=False)
    except OSError:
        return ()
    return said.stdout.split()


def files_of(found: Sequence[Programs]) -> dict[str, bytes | None]:
    """The files of all programs as a machine in QEMU has them, each behind its folders."""
    contents: dict[str, bytes | None] = {ROOT: None}
    programs = [program for each in found for program in each.values()]
    for path in sorted({path for program in programs for path in program.files}):
        inside = ROOT / path.relative_to("/")
        folders = [str(folder) for folder in reversed(inside.parents[:-1])]
        contents |= dict.fromkeys(folder for folder in folders if folder not in contents)
        contents[str(inside)] = path.read_bytes()
    return contents


# --- the script ----------------------------------------------------------------------------------


def words(placed: PlacedTask, programs: Programs, *, here: bool) -> bytes:
    """What the program that starts a command is told, as a file."""
    command = placed.task.command or ()
    root, path = ("/", os.environ.get("PATH", PATH)) if here else (f"/{ROOT}", PATH)
    told = [root, path, programs[command[0]].path, *command]
    return b"".join(os.fsencode(word) + b"\0" for word in told)


def logs(system: System) -> str:
    """The part of a script that makes the folder of what commands print, if there are any."""
    return 'mkdir -p "$left/$run/logs"\nlimit "$left/$run/logs"\n' if commands_of(system) else ""


def groups(system: System) -> str:
    """The part of a script that makes a cgroup for each command, and attaches it to its server."""
    servers = {(vcpu.domain_index, vcpu.index): name_of(vcpu) for vcpu in vcpus_of(system)}
    lines = []
    for placed in commands_of(system):
        group = f'"$commands/{placed.id}"'
        server = servers[placed.domain_index, placed.task.vcpu or 0]
        lines.append(f"mkdir -p {group}\nask attach {server} cgroup={group}\n")
    return "".join(lines)


def process(placed: PlacedTask, horizon_ns: int) -> str:
    """The part of a script that starts what becomes a command at the epoch."""
    number = placed.id
    return (
        f'supervise "$words/$run/command{number}" "$commands/{number}" "$left/$run/command{number}"'
        f' "$left/$run/logs/{number}" "$tmp/$run/ready-command{number}"'
        f" $epoch $((epoch + {horizon_ns})) &\n"
        'tasks="$tasks $!"\n'
    )


# --- what comes of them --------------------------------------------------------------------------


class _Told(NamedTuple):
    """What is told of a command when it is over: what the kernel has counted, and how it ended."""

    counted_ns: int
    ended_ns: int
    exit_code: int


def came_to(
    system: System, left: Mapping[str, bytes], supplies_ns: Sequence[int]
) -> dict[int, RunCommand]:
    """What commands came to, by the ids of their tasks, from the files that a run has left.

    A command ran when its vcpu did (`supplies_ns`, by the ids of vcpus). Several on one vcpu share
    that as the kernel has counted what their processes took, which alone is no good measure: where
    its clock is not stable it counts too little.
    """
    vcpus = {(vcpu.domain_index, vcpu.index): vcpu.id for vcpu in vcpus_of(system)}
    at = {
        placed.id: vcpus[placed.domain_index, placed.task.vcpu or 0]
        for placed in commands_of(system)
    }
    told = {number: _Told(*map(int, left[f"command{number}"].split())) for number in at}
    found = {}
    for number, one in told.items():
        here = [told[other].counted_ns for other, vcpu in at.items() if vcpu == at[number]]
        ended = one.ended_ns >= 0
        found[number] = RunCommand(
            ran_ns=supplies_ns[at[number]] * one.counted_ns // max(1, sum(here)),
            ended_ns=one.ended_ns if ended else None,
            exit_code=one.exit_code if ended else None,
        )
    return found


def keep_printed(system: System, left: Mapping[str, bytes], folder: Path) -> None:
    """Keeps what commands have printed, in files called as their tasks."""
    for placed in commands_of(system):
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{placed.domain.name}.{placed.task.name}.log"
        path.write_bytes(left[f"logs/{placed.id}"])
