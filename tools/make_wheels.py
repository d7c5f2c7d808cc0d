# SPDX-License-Identifier: BSD-2-Clause
"""Builds what is released into dist/: -m tools.make_wheels [--all] [x86_64|aarch64]...

Two wheels for each architecture: one for CPython 3.11 and one, of the stable ABI, for 3.12 and
later; then the source distribution. The compiler is Zig's clang, a package of PyPI, which links
against the symbols of an old C library (GLIBC) and brings its own C++ library, so that one machine
makes wheels for every Linux of the last years and for both architectures. auditwheel looks at the
symbols that are asked for in the end and gives the manylinux tag, abi3audit says whether the
stable ABI is kept, and twine whether PyPI takes the files. Tools and versions are those of the
group `wheels` in uv.lock.

A wheel for x86-64 brings the programs of the Linux host, as `hyperperiod linux build` has compiled
them in build/linux, and the checker of certificates: who installs it needs no compiler for them.
Every wheel brings the playground.

Where one of the two Pythons is not there, 3.11 and one from 3.12 on, its wheels are left out, and
where Coq or OCaml is not, the checker, and where what compiles it is not, the playground; that is
said, and with --all, as for a release, an error.
"""

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

from hyperperiod.hosts.linux.build import prebuilt
from hyperperiod.resources import PLAYGROUND, PREBUILT
from tools import build_checker

TOP = Path(__file__).resolve().parents[1]
WORK = TOP / "build" / "wheels"
DIST = TOP / "dist"
UV = TOP / "build" / "uv" / "bin" / "uv"

GLIBC = "2.28"
PYTHONS = {"3.11": "==3.11.*", "stable ABI": ">=3.12"}
ARCHITECTURES = ("x86_64", "aarch64")
WRAPPERS = {"c++": "c++ -target {arch}-linux-gnu.{glibc}", "ar": "ar", "ranlib": "ranlib"}
LACKS = 3


def run(*command: str | Path, **environment: str) -> str:
    """Runs a program from the top of the repository; ends this one with its output if it fails."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=TOP, env=os.environ | environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(map(str, command))}:\n{done.stdout}{done.stderr}")
    return done.stdout


def environment(name: str, version: str) -> Path | None:
    """The folder of programs of an environment with the locked tools; None without that Python."""
    found = subprocess.run(
        [UV, "python", "find", "--system", version], capture_output=True, text=True, check=False
    )
    if found.returncode != 0:
        return None
    folder = WORK / name.replace(" ", "-")
    run(
        UV, "sync", "--quiet", "--frozen", "--only-group", "wheels", "--python",
        found.stdout.strip(), UV_PROJECT_ENVIRONMENT=str(folder),
    )  # fmt: skip
    return folder / "bin"


def wrappers(arch: str, python: Path) -> Path:
    """Programs that are Zig's compiler and archiver for an architecture; their folder."""
    folder = WORK / f"zig-{arch}-{python.parents[1].name}"
    folder.mkdir(parents=True, exist_ok=True)
    for name, words in WRAPPERS.items():
        program = folder / name
        call = words.format(arch=arch, glibc=GLIBC)
        program.write_text(f'#!/bin/sh\nexec "{python}" -m ziglang {call} "$@"\n')
        program.chmod(0o755)
    return folder


def headers(arch: str, python: Path) -> Path:
    """A folder for the compiler's search path: pyconfig.h where Debian's Python.h looks for it.

    The one of this machine serves other architectures: what extensions see of it, the sizes of
    types, is the same on all 64-bit Linux.
    """
    told = "import sys, sysconfig; print(sys.version_info[1], sysconfig.get_config_h_filename())"
    minor, config = run(python, "-c", told).split()
    folder = WORK / f"include-3.{minor}"
    place = folder / f"{arch}-linux-gnu" / f"python3.{minor}"
    place.mkdir(parents=True, exist_ok=True)
    shutil.copy(config, place / "pyconfig.h")
    return folder


@functools.cache
def programs() -> Path:
    """The archive of the programs of the Linux host, from what is built."""
    archive = WORK / PREBUILT.name
    WORK.mkdir(parents=True, exist_ok=True)
    prebuilt(TOP / "build" / "linux", archive)
    return archive


@functools.cache
def checker() -> Path:
    """The checker of certificates, made of the proofs."""
    target = WORK / build_checker.TARGET.name
    build_checker.build(target)
    return target


@functools.cache
def playground() -> Path | None:
    """The simulator as a page; None where what compiles it is missing."""
    lacking = subprocess.run(
        [TOP / "tools" / "prerequisites", "check", sys.executable, "wasm"],
        capture_output=True, check=False,
    )  # fmt: skip
    if lacking.returncode:
        return None
    WORK.mkdir(parents=True, exist_ok=True)
    run("make", "--silent", "-f", "hosts/sim/wasm/Makefile")
    run(sys.executable, "-m", "docs.playground", WORK / PLAYGROUND.name)
    return WORK / PLAYGROUND.name


def wheel(name: str, bin_folder: Path, arch: str) -> None:
    """Builds one wheel, and puts it into dist/ if it is what its name will say."""
    python = bin_folder / "python"
    zig = wrappers(arch, python)
    raw = WORK / f"raw-{arch}-{bin_folder.parent.name}"
    shutil.rmtree(raw, ignore_errors=True)
    suffix = f".cpython-311-{arch}-linux-gnu.so" if name == "3.11" else ".abi3.so"
    settings = {
        "build-dir": WORK / f"objects-{arch}-{bin_folder.parent.name}",
        "cmake.define.CMAKE_CXX_COMPILER": zig / "c++",
        "cmake.define.CMAKE_CXX_COMPILER_AR": zig / "ar",
        "cmake.define.CMAKE_CXX_COMPILER_RANLIB": zig / "ranlib",
        "cmake.define.CMAKE_AR": zig / "ar",
        "cmake.define.CMAKE_RANLIB": zig / "ranlib",
        "cmake.define.CMAKE_CXX_FLAGS": f"-isystem {headers(arch, python)}",
    }
    brought = [playground()] if arch != "x86_64" else [playground(), programs()]
    settings["cmake.define.PREBUILT"] = ";".join(str(one) for one in brought if one)
    if arch == "x86_64" and build_checker.missing() is None:
        settings["cmake.define.CHECKER"] = checker()
    options = [f"--config-setting={key}={value}" for key, value in settings.items()]
    run(
        python, "-m", "build", "--no-isolation", "--wheel", "--outdir", raw, *options,
        PATH=f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
        _PYTHON_HOST_PLATFORM=f"linux-{arch}", SETUPTOOLS_EXT_SUFFIX=suffix,
    )  # fmt: skip
    (built,) = raw.glob("*.whl")
    run(
        python, "-m", "auditwheel", "repair", "--plat", "auto", "--only-plat",
        "--wheel-dir", raw / "tagged", built, PATH=f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
    )  # fmt: skip
    (tagged,) = (raw / "tagged").glob("*.whl")
    if "-manylinux" not in tagged.name:
        sys.exit(f"error: {tagged.name}: it needs more than old Linux systems have")
    DIST.mkdir(exist_ok=True)
    shutil.move(tagged, DIST / tagged.name)


def main() -> int:
    """Builds everything anew, and says what there is."""
    words = sys.argv[1:]
    wanted = [word for word in words if word != "--all"] or ARCHITECTURES
    if not set(wanted) <= set(ARCHITECTURES):
        print(f"error: found {' '.join(wanted)}; allowed: {' '.join(ARCHITECTURES)}",
              file=sys.stderr)  # fmt: skip
        return 2
    found = {name: environment(name, version) for name, version in PYTHONS.items()}
    environments = {name: folder for name, folder in found.items() if folder}
    lacking = [
        f"wheels for CPython, {name} (no Python {PYTHONS[name]})"
        for name in found
        if name not in environments
    ]
    if "x86_64" in wanted and (missing := build_checker.missing()) is not None:
        lacking.append(f"the checker of certificates (no {missing}: {build_checker.INSTALL})")
    if playground() is None:
        lacking.append("the playground (make playground names what is missing)")
    if lacking and ("--all" in words or not environments):
        print(f"error: left out: {'; '.join(lacking)}", file=sys.stderr)
        return LACKS
    shutil.rmtree(DIST, ignore_errors=True)
    for arch in wanted:
        for name, bin_folder in environments.items():
            print(f"wheel for CPython, {name}, {arch}", flush=True)
            wheel(name, bin_folder, arch)
    tools = next(iter(environments.values()))
    run(tools / "python", "-m", "build", "--no-isolation", "--sdist", "--outdir", DIST)
    made = sorted(DIST.iterdir())
    if abi3 := [path for path in made if "-abi3-" in path.name]:
        run(tools / "abi3audit", "--strict", *abi3)
    run(tools / "twine", "check", "--strict", *made)
    for path in made:
        print(f"{path.relative_to(TOP)}: {path.stat().st_size // 1024} KiB")
    if lacking:
        print(f"left out, and needed for a release: {'; '.join(lacking)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
