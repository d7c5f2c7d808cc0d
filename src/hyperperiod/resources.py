# SPDX-License-Identifier: BSD-2-Clause
"""Where the files are that the package needs beside its modules, and where it builds to.

`SOURCES` holds the folders core, experiments, guests, hosts/linux, hosts/xen, proofs, record,
systems and words. In an installed package they are data of it, in `hyperperiod/sources`; in a
checkout, of which the package is an editable installation, they are its folders. Nothing may write
there.

`PREBUILT` is an archive of the programs of the Linux host, compiled where the package was made: in
a wheel for x86-64 it lies beside the modules, elsewhere there is none.

`PLAYGROUND` is the simulator as a page, as `make playground` makes it: in a wheel it lies beside
the modules, in a checkout in `build/`, and it may be missing.

`build_folder()` is where `hyperperiod xen build` and `linux build` put hypervisors, kernels, guests
and tools, and where runs look for them: the folder that HYPERPERIOD_BUILD names; else `build/` of
the checkout; else a folder in the user's cache that belongs to this version of the package.
"""

from __future__ import annotations

import os
from pathlib import Path

from hyperperiod.version import VERSION

BUILD_VARIABLE = "HYPERPERIOD_BUILD"

_PACKAGE = Path(__file__).resolve().parent
_INSTALLED = _PACKAGE / "sources"

CHECKOUT = None if _INSTALLED.is_dir() else _PACKAGE.parents[1]
"""The folder of the checkout that this package is an editable installation of, if it is one."""

SOURCES = CHECKOUT or _INSTALLED
SYSTEMS = SOURCES / "systems"
EXPERIMENTS = SOURCES / "experiments"
PREBUILT = _PACKAGE / "linux-x86_64.tar.xz"
PLAYGROUND = (CHECKOUT / "build" if CHECKOUT else _PACKAGE) / "playground.html"


def build_folder() -> Path:
    """The folder for what is built from SOURCES; it need not exist yet."""
    named = os.environ.get(BUILD_VARIABLE)
    if named:
        return Path(named).absolute()
    if CHECKOUT is not None:
        return CHECKOUT / "build"
    cache = os.environ.get("XDG_CACHE_HOME", "")
    # A relative path there is to be ignored, says the XDG specification.
    base = Path(cache) if cache.startswith("/") else Path.home() / ".cache"
    return base / "hyperperiod" / VERSION


def example_files() -> dict[str, dict[str, Path]]:
    """The files of example systems and sweeps, by kind and name."""
    folders = {"system": SYSTEMS, "sweep": EXPERIMENTS / "sweeps"}
    return {
        kind: {path.stem: path for path in sorted(place.glob("*.toml"))}
        for kind, place in folders.items()
    }
