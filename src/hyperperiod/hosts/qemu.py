# SPDX-License-Identifier: BSD-2-Clause
"""A program of QEMU's that runs a machine: watched by its console, asked by its monitor.

Nothing survives the block in which it runs: QEMU ends with it, with Ctrl-C and with this process,
however it ends.
"""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from hyperperiod.hosts.qmp import Monitor, MonitorError
from hyperperiod.hosts.watched import SilentError, Watched, tied_to_us

START_TIMEOUT_S = 30.0
LOOK_EVERY_S = 0.01
COUNTER_HZ = 62_500_000
"""How fast the system counter of an arm64 machine runs: a tick is 16 ns."""
ICOUNT_RATE = 1000
"""Instructions per 1000 ns on a machine that counts them."""
FAST: Mapping[str, Any] = {"max-bandwidth": 1 << 40}
"""QEMU writes a machine's state to a file, so no network is to be spared (bytes per second)."""
LOADED = ("-incoming", "defer")
"""Arguments of QEMU's for a machine that `load` tells what state it is in."""
SNAPSHOT = "snapshot"


class Emulator(Watched):
    """A machine that runs in QEMU, until its block ends."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        folder: Path,
        console: Path,
        *,
        kernel: str,
        panic: str,
    ) -> None:
        """`kernel` is what runs there, for messages; `panic` is what it says when it is over."""
        super().__init__(process, console, "QEMU")
        self._folder = folder
        self._kernel = kernel
        self._panic = re.compile(panic)
        self._monitor = self._connect()

    def require_sound(self, text: str) -> None:
        """Raises FailedError if the machine has panicked."""
        if self._panic.search(text):
            raise self.failed(f"{self._kernel} panicked")

    def stop(self) -> None:
        """Stops the machine: no further instruction happens."""
        self.ask("stop")

    def go_on(self) -> None:
        """Lets a stopped machine go on."""
        self.ask("cont")

    def save(self, file: BinaryIO) -> None:
        """Leaves the state of the machine, once it has stopped itself, in a file; QEMU ends.

        Until then it is not asked anything: QEMU may let a machine that counts leap too far if it
        is at work for us at the instant at which the machine falls asleep.
        """
        with self._answering():
            self._monitor.wait_for("STOP")
        self.ask("migrate-set-parameters", **FAST)
        self._exchange("migrate", file)
        while (found := self.ask("query-migrate"))["status"] not in ("completed", "failed"):
            time.sleep(LOOK_EVERY_S)
        if found["status"] == "failed":
            raise self.failed(f"{file.name}: the machine's state, {found.get('error-desc')}")
        self.ask("quit")
        self.wait_for_end()

    def load(self, file: BinaryIO) -> None:
        """Puts a machine (LOADED) into the state that another one has left in a file."""
        self._exchange("migrate-incoming", file)
        while self.ask("query-status")["status"] == "inmigrate":
            time.sleep(LOOK_EVERY_S)

    def _exchange(self, command: str, file: BinaryIO) -> None:
        self.ask("getfd", file, fdname=SNAPSHOT)
        self.ask(command, uri=f"fd:{SNAPSHOT}")

    def read(self, address: int, size: int) -> bytes:
        """Reads `size` bytes of memory; of a running machine, as they are at some instant."""
        dump = self._folder / "dump"
        self.ask("pmemsave", val=address, size=size, filename=str(dump))
        return dump.read_bytes()

    def ask(self, command: str, file: BinaryIO | None = None, **arguments: object) -> Any:
        """What QEMU's monitor answers to a command, with which it is handed a file or none;
        SilentError where it does not."""
        with self._answering():
            return self._monitor.ask(command, file, **arguments)

    @contextlib.contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except MonitorError as error:
            raise self.failed(f"QEMU does not answer ({error})", SilentError) from None

    def _connect(self) -> Monitor:
        until = time.monotonic() + START_TIMEOUT_S
        while True:
            try:
                return Monitor(self._folder / "qmp")
            except (OSError, MonitorError):
                if self._process.poll() is not None:
                    raise self.failed("QEMU did not start") from None
                if time.monotonic() > until:
                    raise self.failed("QEMU does not answer") from None
            time.sleep(LOOK_EVERY_S)

    def said(self) -> list[str]:
        """What QEMU itself has said."""
        return (self._folder / "qemu").read_text(errors="replace").strip().splitlines()

    def end(self) -> None:
        """Closes the connection to the machine's monitor, if there is one."""
        if hasattr(self, "_monitor"):
            self._monitor.close()


@contextlib.contextmanager
def started(command: Sequence[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """QEMU, called by this command; what it says is in `folder`."""
    with (folder / "qemu").open("wb") as said:
        # A group of its own: Ctrl-C is for us, who then read what was recorded.
        process = subprocess.Popen(
            [*tied_to_us(), *command],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        _kill(process)


def console_arguments(folder: Path, console: Path) -> list[str]:
    """What makes QEMU write the console's log and listen to the monitor in `folder`."""
    return [
        *("-serial", f"file:{quoted(console)}"),
        *("-qmp", f"unix:{quoted(folder / 'qmp')},server=on,wait=off"),
    ]


def quoted(path: Path) -> str:
    """A file name inside an option of QEMU's."""
    return str(path).replace(",", ",,")


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait()


@contextlib.contextmanager
def console_log(folder: Path | None) -> Iterator[Path]:
    """The path of the console's log: in `folder`, where it stays, or one that goes with the run."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder / "console.log"
        return
    with tempfile.TemporaryDirectory(prefix="hyperperiod-") as name:
        yield Path(name) / "console.log"
