# SPDX-License-Identifier: BSD-2-Clause
"""A program of QEMU's that runs a machine: watched by its console, asked by its monitor.

Nothing survives the block in which it runs: QEMU ends with it, with Ctrl-C and with this process,
however it ends.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from hyperperiod.hosts.qmp import Monitor, MonitorError
from hyperperiod.model import FailedError

PATIENCE_S = 60.0
"""Wall time without a sign of life after which a machine counts as hung."""
LOOK_EVERY_S = 0.1
START_TIMEOUT_S = 30.0
TAIL_LINES = 15


class Emulator:
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
        self._process = process
        self._folder = folder
        self._console = console
        self._kernel = kernel
        self._panic = re.compile(panic)
        self._monitor = self._connect()

    def console(self) -> str:
        """What the machine has printed so far."""
        return self._console.read_text(errors="replace") if self._console.exists() else ""

    def wait_for(
        self,
        pattern: str,
        *,
        patience_s: float = PATIENCE_S,
        look: Callable[[], object] | None = None,
    ) -> re.Match[str]:
        """Wait until the console shows `pattern`.

        `look` is called now and then; when what it returns changes, or the console grows, the
        machine lives. FailedError when neither happens for `patience_s` of wall time, when the
        machine panics and when QEMU ends. After Ctrl-C a KeyboardInterrupt, with the machine as
        usable as before.
        """
        wanted = re.compile(pattern)
        last: tuple[int, object] = (0, None)
        since = time.monotonic()
        with _interrupts_wait() as interrupted:
            while not interrupted():
                ended = self._process.poll() is not None
                text = self.console()
                match = wanted.search(text)
                if match is not None:
                    return match
                if self._panic.search(text):
                    raise self.failed(f"{self._kernel} panicked")
                if ended:
                    raise self.failed(f"QEMU ended before the console showed {pattern!r}")
                state = (len(text), None if look is None else look())
                if state != last:
                    last, since = state, time.monotonic()
                elif time.monotonic() - since > patience_s:
                    raise self.failed(f"no sign of life for {patience_s:.0f} s")
                time.sleep(LOOK_EVERY_S)
        raise KeyboardInterrupt

    def stop(self) -> None:
        """Stops the machine: no further instruction happens."""
        self.ask("stop")

    def go_on(self) -> None:
        """Lets a stopped machine go on."""
        self.ask("cont")

    def read(self, address: int, size: int) -> bytes:
        """Reads `size` bytes of memory; of a running machine, as they are at some instant."""
        dump = self._folder / "dump"
        self.ask("pmemsave", val=address, size=size, filename=str(dump))
        return dump.read_bytes()

    def ask(self, command: str, **arguments: object) -> Any:
        """What QEMU's monitor answers; FailedError where it does not."""
        try:
            return self._monitor.ask(command, **arguments)
        except MonitorError as error:
            raise self.failed(f"QEMU does not answer ({error})") from None

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
            time.sleep(0.01)

    def failed(self, what: str) -> FailedError:
        """The error to be raised for what went wrong, with the end of the console's log."""
        said = (self._folder / "qemu").read_text(errors="replace").strip()
        lines = self.console().splitlines()[-TAIL_LINES:]
        where = f"; the whole console is in {self._console}" if lines else ""
        return FailedError(f"{what}{where}", "\n".join([*lines, *said.splitlines()]))

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
            [*_tied_to_us(), *command],
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


def _tied_to_us() -> list[str]:
    """What makes a program end with this process, even when that is killed outright."""
    setpriv = shutil.which("setpriv")
    return [] if setpriv is None else [setpriv, "--pdeathsig", "KILL", "--"]


@contextlib.contextmanager
def _interrupts_wait() -> Iterator[Callable[[], bool]]:
    """Ctrl-C is only noted in here, so that it breaks no conversation; the second one breaks all.

    In another thread than the main one nothing is to be done: Ctrl-C does not come there.
    """
    seen: list[int] = []

    def remember(number: int, _frame: object) -> None:
        if seen:
            raise KeyboardInterrupt
        seen.append(number)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, remember)
    try:
        yield lambda: bool(seen)
    finally:
        signal.signal(signal.SIGINT, before)


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
