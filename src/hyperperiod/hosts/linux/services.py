# SPDX-License-Identifier: BSD-2-Clause
"""Real services for the machine that runs on Linux boot: `hyperperiod linux build --services`.

A web server with a scripting language inside (Apache, PHP), a database (PostgreSQL), as Debian's
testing suite has them on the day, fetched and verified like the kernel and only unpacked. Beside
them are a small auction site of ours and a program that is its clients (guests/services).

The result is linux/services.cpio of the job's folder, a layer above the machine's other files: the
services, the libraries that they load, the settings and the site.
"""

from __future__ import annotations

import fcntl
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from hyperperiod.hosts import debian
from hyperperiod.hosts.build_job import BuildError, BuildJob, digest_of, need
from hyperperiod.hosts.cpio import archive
from hyperperiod.hosts.linux.build import (
    CLIENTS,
    MULTIARCH,
    Images,
    images,
    is_recent,
    need_tools,
    unpacked,
)
from hyperperiod.hosts.services import LAYER, services_layer
from hyperperiod.resources import SOURCES

LOADER: Final = "lib64/ld-linux-x86-64.so.2"
PACKAGES: Final = ("postgresql", "apache2-bin", "libapache2-mod-php", "php-pgsql", "tzdata")
DEPENDS: Final = re.compile(r"(lib.*\d(t64|g)?|zlib1g|postgresql-\d+|php[\d.]+-(pgsql|opcache))")
"""What is taken of that on which they depend: the libraries, and the programs by their version."""

DATABASE: Final = "usr/lib/postgresql"
WEB: Final = "usr/sbin/apache2"
WEB_SCRIPTS: Final = "usr/lib/apache2/modules/libphp*.so"
WEB_MODULES: Final = ("mpm_prefork", "authz_core", "dir")
EXTENSIONS: Final = ("pgsql", "opcache")
ZONES: Final = ("UTC", "GMT")
OURS: Final = SOURCES / "guests" / "services"


def services_images() -> Images:
    """What is booted where services run; MissingError where it is not built."""
    return images().with_layer(services_layer())


def build_services(job: BuildJob) -> Path:
    """The layer of services, unless it is up to date, as a file."""
    need_tools()
    need({"readelf": "binutils"}, "find the libraries of services")
    out = job.root / "linux" / "services"
    out.mkdir(parents=True, exist_ok=True)
    with (job.root / ".linux-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _build(job, out)


def _build(job: BuildJob, out: Path) -> Path:
    layer, stamp = out.parent / LAYER, out / ".stamp"
    clients = out.parent / CLIENTS
    if is_recent(stamp, _key(clients, []), [layer]):
        return layer
    packages = debian.packages(job.downloads.absolute(), "amd64", PACKAGES, debian.TESTING, DEPENDS)
    key = _key(clients, packages)
    if layer.is_file() and stamp.is_file() and stamp.read_text() == key:
        stamp.touch()
        return layer
    stamp.unlink(missing_ok=True)
    root = unpacked(out, packages)
    layer.write_bytes(archive(_contents(root, clients)))
    stamp.write_text(key)
    return layer


def _contents(root: Path, clients: Path) -> dict[str, bytes]:
    """The files of the layer by name."""
    files = dict(_files(root))
    files[f"bin/{CLIENTS}"] = clients.read_bytes()
    for path in sorted(OURS.rglob("*")):
        if path.is_file() and path.suffix != ".c":
            files[f"services/{path.relative_to(OURS)}"] = path.read_bytes()
    return files


def _files(root: Path) -> Iterator[tuple[str, bytes]]:
    """What is taken of the packages, with the libraries that it loads."""
    (version,) = (root / DATABASE).iterdir()
    database = version.relative_to(root)
    programs = [
        *(f"{database}/bin/{name}" for name in ("postgres", "initdb")),
        *(f"{database}/lib/{name}.so" for name in ("plpgsql", "dict_snowball")),
        WEB,
        *(f"usr/lib/apache2/modules/mod_{name}.so" for name in WEB_MODULES),
        str(_only(root, WEB_SCRIPTS)),
        *(str(_only(root, f"usr/lib/php/*/{name}.so")) for name in EXTENSIONS),
    ]
    data = (root / f"usr/share/postgresql/{version.name}").rglob("*")
    shared = [str(path.relative_to(root)) for path in data if path.is_file()]
    zones = [f"usr/share/zoneinfo/{name}" for name in ZONES]
    for name in (*programs, *shared, *zones):
        yield name, (root / name).read_bytes()
    # One name for whatever version it has.
    yield WEB_SCRIPTS.replace("*", ""), (root / _only(root, WEB_SCRIPTS)).read_bytes()
    yield LOADER, (root / "usr" / LOADER).read_bytes()
    for name in libraries(root, programs):
        yield f"lib/{MULTIARCH}/{name}", (_libraries_of(root) / name).read_bytes()


def _only(root: Path, pattern: str) -> Path:
    (found,) = root.glob(pattern)
    return found.relative_to(root)


def _libraries_of(root: Path) -> Path:
    return root / "usr" / "lib" / MULTIARCH


def libraries(root: Path, programs: Sequence[str]) -> list[str]:
    """The libraries that programs load, and those that these load."""
    found: set[str] = set()
    left = [root / name for name in programs]
    while left:
        for name in _needed(left.pop()):
            library = _libraries_of(root) / name
            if name in found or name.startswith("ld-linux"):
                continue
            if not library.is_file():
                raise BuildError(f"Debian's packages of the services have no {name}")
            found.add(name)
            left.append(library)
    return sorted(found)


def _needed(program: Path) -> list[str]:
    """The names of the libraries that a program or library itself asks for."""
    shown = subprocess.run(
        ["readelf", "-d", "-W", program], capture_output=True, text=True, check=True
    ).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)\]", shown)


def _key(clients: Path, packages: Sequence[Path]) -> str:
    """All that the layer depends on, as a text: it changes when one of these does."""
    ours = [path for path in sorted(OURS.rglob("*")) if path.is_file()]
    digest = digest_of([], (*ours, clients, Path(__file__)))
    return "\n".join([digest, *(package.name for package in packages)])
