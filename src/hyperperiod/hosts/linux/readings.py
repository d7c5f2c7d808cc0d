# SPDX-License-Identifier: BSD-2-Clause
"""What a machine says of itself in /proc and /sys, below any folder.

A reading is None where the file is not there or may not be read. `OddError` is raised for a text
that is not what such a file has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Final, NamedTuple

from hyperperiod.hosts.linux.cpus import read_list

ROOT: Final = Path("/")
CPUS: Final = "sys/devices/system/cpu"
REAL_TIME: Final = {1: "SCHED_FIFO", 2: "SCHED_RR", 6: "SCHED_DEADLINE"}
"""Classes of threads that come before sched_ext, by the kernel's numbers."""
OF_THE_KERNEL: Final = 0x00200000
"""The flag of threads of the kernel's own."""


class OddError(Exception):
    """A file has something else than it should."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(f"/{path} says {text[:40]!r}")


@dataclass(frozen=True)
class Readings:
    """The files of a machine; paths are given without the slash that they begin with."""

    root: Path

    def text(self, path: str) -> str | None:
        """What a file says, without the spaces around it."""
        try:
            return (self.root / path).read_text(errors="replace").strip()
        except (OSError, ValueError):
            return None

    def number(self, path: str) -> int | None:
        """The whole number that a file says."""
        text = self.text(path)
        if text is None:
            return None
        try:
            return int(text)
        except ValueError:
            raise OddError(path, text) from None

    def cpus(self, path: str) -> set[int] | None:
        """The cpus that a file lists; an empty one lists none."""
        text = self.text(path)
        if not text:
            return None if text is None else set()
        try:
            return set(read_list(text))
        except ValueError:
            raise OddError(path, text) from None

    def chosen(self, path: str) -> str | None:
        """What a file says, or the word of it that stands in brackets, as in `always [never]`."""
        text = self.text(path)
        if text is not None and "[" in text:
            return text.partition("[")[2].partition("]")[0]
        return text

    def paths(self, pattern: str) -> list[str]:
        """The paths that match a pattern, those of numbers in the order of these.

        `**` stands for folders at any depth. What goes while it is looked for is left out.
        """
        found = glob(  # noqa: PTH207 - Path's fails of what goes
            pattern, root_dir=self.root, recursive=True, include_hidden=True
        )
        found = [path.rstrip("/") for path in found]
        return sorted(found, key=lambda path: (len(path), path))


@dataclass(frozen=True)
class Machine:
    """A machine and those of its cpus that servers have or will have."""

    files: Readings
    managed: frozenset[int]

    @classmethod
    def of(cls, root: Path, cpus: Sequence[int] | None) -> Machine:
        """Without `cpus` all that are online are managed."""
        files = Readings(root)
        return cls(files, frozenset(online(files) if cpus is None else cpus))

    @property
    def others(self) -> set[int]:
        """The cpus that are online and not managed."""
        return online(self.files) - self.managed

    def of_cpus(self, place: str) -> dict[int, str]:
        """The managed cpus whose folder has a file, with what that says."""
        texts = {cpu: self.files.text(f"{CPUS}/cpu{cpu}/{place}") for cpu in sorted(self.managed)}
        return {cpu: text for cpu, text in texts.items() if text is not None}


def online(files: Readings) -> set[int]:
    """The cpus that run now."""
    return files.cpus(f"{CPUS}/online") or set()


def present(files: Readings) -> set[int]:
    """The cpus that the machine has, whether they run or not."""
    return files.cpus(f"{CPUS}/present") or online(files)


class RealTimeThread(NamedTuple):
    """A thread of real time: its class, its priority there, and the cpus that it may use."""

    process: int
    thread: int
    name: str
    policy: str
    priority: int
    cpus: frozenset[int]


def real_time_threads(files: Readings, *, of_the_kernel: bool = False) -> Iterator[RealTimeThread]:
    """Yields the threads of real time that are not the kernel's own, or those that are."""
    for path in files.paths("proc/[0-9]*/task/[0-9]*/stat"):
        name, _, rest = (files.text(path) or "").rpartition(")")
        fields = rest.split()
        try:
            flags, priority, policy = int(fields[6]), int(fields[37]), int(fields[38])
        except (IndexError, ValueError):
            continue  # it has ended meanwhile
        if policy in REAL_TIME and bool(flags & OF_THE_KERNEL) == of_the_kernel:
            _, process, _, thread, _ = path.split("/")
            yield RealTimeThread(
                int(process),
                int(thread),
                name.partition("(")[2],
                REAL_TIME[policy],
                priority,
                frozenset(_allowed(files, f"{path.rpartition('/')[0]}/status")),
            )


def _allowed(files: Readings, path: str) -> set[int]:
    """The cpus that a thread may use; all where that is not told."""
    for line in (files.text(path) or "").splitlines():
        key, _, value = line.partition(":")
        if key == "Cpus_allowed_list":
            try:
                return set(read_list(value.strip()))
            except ValueError:
                raise OddError(path, value) from None
    return online(files)
