# SPDX-License-Identifier: BSD-2-Clause
"""One call of `hyperperiod xen build` or `linux build`: where it builds to and how it is watched.

Programs run in sessions of their own: Ctrl-C reaches only us, and we end them and wait until they
have removed what they had half written. So the same command goes on where it was interrupted.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hyperperiod.model.errors import MissingError

Watch = Callable[[str, int], contextlib.AbstractContextManager[Callable[[int], None]]]
"""Makes a display of progress from a title and an expected number of lines of output."""

# A compiler's prefix for each of Xen's architectures, where the machine is another one.
CROSS = {"arm64": "aarch64-linux-gnu-", "x86_64": "x86_64-linux-gnu-"}
COMPILERS = {"arm64": "gcc-aarch64-linux-gnu", "x86_64": "gcc-x86-64-linux-gnu"}
MACHINES = {"aarch64": "arm64", "x86_64": "x86_64"}

FAILED = 70


class BuildError(Exception):
    """Something cannot be built: one message, and the exit code that it asks for."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class BuildJob:
    """Where to build (`root`), the user's own tree of Xen's source if there is one, and `watch`."""

    root: Path
    own_source: Path | None
    watch: Watch

    @property
    def xen(self) -> Path:
        """The folder of Xen's source and of the hypervisors."""
        return self.root / "xen"

    @property
    def downloads(self) -> Path:
        """The folder of packages and sources that were fetched; they are kept for later builds."""
        return self.root / "downloads"


@contextlib.contextmanager
def step(name: str) -> Iterator[None]:
    """Says on standard error what is being done, and when it is done how long it took."""
    print(f"== {name}", file=sys.stderr, flush=True)
    start = time.monotonic()
    yield
    print(f"== {name}: done, {time.monotonic() - start:.1f} s", file=sys.stderr, flush=True)


def need(programs: dict[str, str], purpose: str) -> None:
    """Raises MissingError unless all programs are there; the values are their Debian packages."""
    _found(programs, [name for name in programs if shutil.which(name)], purpose)


def need_headers(headers: dict[str, str], purpose: str) -> None:
    """Raises MissingError unless gcc finds all headers; the values are their Debian packages."""
    asked = "".join(f"#if __has_include(<{name}>)\n{name}\n#endif\n" for name in headers)
    seen = subprocess.run(
        ["gcc", "-E", "-P", "-x", "c", "-"], input=asked, capture_output=True, text=True, check=True
    ).stdout
    _found(headers, ["".join(line.split()) for line in seen.splitlines()], purpose)


def _found(wanted: dict[str, str], found: Sequence[str], purpose: str) -> None:
    """Raises MissingError unless all that is wanted was found; the values are Debian packages."""
    missing = [name for name in wanted if name not in found]
    if missing:
        packages = sorted({wanted[name] for name in missing})
        raise MissingError(
            f"{', '.join(missing)}: not found, needed to {purpose}",
            f"sudo apt-get install -y --no-install-recommends {' '.join(packages)}",
        )


def prefix_for(arch: str) -> str:
    """What the names of an architecture's compiler and binary tools begin with, on this machine."""
    return "" if MACHINES.get(platform.machine()) == arch else CROSS[arch]


def compiler_for(arch: str) -> dict[str, str]:
    """The compiler for an architecture and the Debian package that has it, as `need` takes them."""
    prefix = prefix_for(arch)
    return {f"{prefix}gcc": COMPILERS[arch] if prefix else "gcc"}


def version_of(compiler: str) -> str:
    """The line by which a compiler says which one it is."""
    output = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True)
    return output.stdout.splitlines()[0]


def digest_of(texts: Iterable[str], files: Iterable[Path] = ()) -> str:
    """A number that changes when one of the texts or files does."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode() + b"\0")
    for path in files:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def run_logged(
    command: Sequence[str],
    log: Path,
    progress: Callable[[int], None] = lambda _lines: None,
    environment: dict[str, str] | None = None,
) -> int:
    """Runs a program, adds what it says to `log`, and returns its exit code.

    `progress` is told how many lines the program has printed. Nothing of a make around this
    program, such as its job server, is for a make inside.
    """
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    with (
        log.open("ab") as output,
        subprocess.Popen(
            command,
            env=inherited | (environment or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            for number, line in enumerate(process.stdout, 1):
                output.write(line)
                progress(number)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            raise
    return process.returncode


def tail_of(log: Path, lines: int) -> str:
    """The last lines of a log, for a message."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
