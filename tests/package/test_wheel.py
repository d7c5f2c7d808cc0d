# SPDX-License-Identifier: BSD-2-Clause
"""The wheel alone: far from any checkout it has all that needs no compiler, and builds the rest."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.package.installed import TOP, Installed
from tests.support.on_linux import need_linux
from tests.support.xen_images import image

from hyperperiod.hosts.linux.build import COMPILERS, prebuilt
from hyperperiod.resources import PREBUILT
from hyperperiod.version import VERSION


@pytest.fixture(scope="module")
def system(installed: Installed) -> str:
    """An example system, as the package gives it."""
    done = installed.run("examples", "flight-control")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "flight-control.toml\n"
    copy = installed.here / "flight-control.toml"
    assert copy.read_bytes() == (TOP / "systems" / "flight-control.toml").read_bytes()
    return str(copy)


def test_it_is_the_wheel_that_is_tested(installed: Installed) -> None:
    done = installed.run("--version")
    assert done.stdout == f"hyperperiod {VERSION}\n"
    found = (installed.site / "hyperperiod" / "sources" / "core" / "hyperperiod.h").read_text()
    assert found == (TOP / "core" / "hyperperiod.h").read_text()


def test_no_source_is_forgotten(installed: Installed) -> None:
    shared = ("core", "proofs", "record", "words")
    for folder in (*shared, "experiments", "guests", "hosts/linux", "hosts/xen", "systems"):
        theirs = files_below(installed.site / "hyperperiod" / "sources" / folder)
        # What only native modules are compiled of is not carried.
        assert theirs == files_below(TOP / folder) - files_below(TOP / folder, "*.hpp"), folder
    found = files_below(installed.site / "hyperperiod", "*.py")
    modules = {name for name in found if not name.startswith("sources/")}
    assert modules == files_below(TOP / "src" / "hyperperiod", "*.py")


def files_below(folder: Path, pattern: str = "*") -> set[str]:
    """Returns the files by their paths from there, but for what pip and Python compile of them."""
    files = {path.relative_to(folder) for path in folder.rglob(pattern) if path.is_file()}
    return {str(path) for path in files if "__pycache__" not in path.parts}


def test_nothing_heavy_comes_along(installed: Installed) -> None:
    """An installation without extras: no solver, no table formats."""
    there = {path.name for path in installed.site.iterdir()}
    assert not there & {"ortools", "pyarrow", "perfetto", "pandas"}


def test_analyze_and_simulate_with_a_report(installed: Installed, system: str) -> None:
    assert installed.run("analyze", system).returncode == 0
    page = installed.here / "page.html"
    done = installed.run("simulate", system, "--horizon", "1s", "--report", str(page))
    assert done.returncode == 0, done.stderr
    assert "<html" in page.read_text()


PROGRAM = """
import hyperperiod as hp

task = hp.Task(name="t", period="20ms", wcet="3ms")
domains = [hp.Domain(name="d", interface_period="5ms", tasks=[task])]
system = hp.System(name="s", policy="ptps", domains=domains)
runs = hp.simulate(system, "1s", seeds=range(3))
print(hp.analyze(system).headline)
print(runs.headline, len(runs.rows()), "<table>" in runs._repr_html_())
for call in (
    runs.to_frame,
    runs.plot,
    lambda: hp.sweep({"name": "a", "draw": {"utilization": 0.5}}),
    lambda: hp.fit(system),
):
    try:
        call()
    except hp.MissingError as error:
        print(error.install)
"""


def test_a_program_runs_and_is_told_what_extras_bring(installed: Installed) -> None:
    command = [str(installed.bin / "python"), "-c", PROGRAM]
    done = subprocess.run(command, cwd=installed.here, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "s under ptps: schedulable",
        "s: 3 of 3 runs without a missed deadline 3 True",
        *[f"pip install 'hyperperiod[{one}]'" for one in ("notebook", "notebook", "sweep", "fit")],
    ]


def test_experiments_are_in_it(installed: Installed) -> None:
    done = installed.run(
        "latency", "--scenario", "affinity", "--runs", "1", "--longest", "200ms", "--json"
    )
    assert done.returncode in (0, 1), done.stderr
    assert json.loads(done.stdout)["scenarios"]
    done = installed.run("reproduce", "psedf-fig7", "--packets", "50", "--json")
    assert done.returncode in (0, 1), done.stderr
    assert json.loads(done.stdout)["rows"]


def test_export(installed: Installed, system: str) -> None:
    words = ("export", system, "--to", "xen-xl", "--out", "xl", "--margin", "20%")
    done = installed.run(*words)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("fit", "avionics-unfitted.toml"), "fit"),
        (("trace", "convert", "trace.hpt", "trace.parquet"), "parquet"),
    ],
)
def test_what_an_extra_would_bring_is_said(
    installed: Installed, system: str, arguments: tuple[str, ...], extra: str
) -> None:
    installed.run("examples", "avionics-unfitted")
    installed.run("simulate", system, "--horizon", "1ms", "--trace", "trace.hpt")
    done = installed.run(*arguments)
    assert done.returncode == 3
    assert done.stderr.endswith(f"install it with: pip install 'hyperperiod[{extra}]'\n")
    assert len(done.stderr.splitlines()) == 1


def test_what_is_not_built_is_named_with_the_command(installed: Installed, system: str) -> None:
    for arguments in (
        ("run", system, "--on", "xen"),
        ("export", system, "--to", "xen-dom0less", "--out", "d"),
    ):
        done = installed.run(*arguments)
        assert done.returncode == 3
        assert "hyperperiod xen build arm64" in done.stderr
        assert f"{installed.home}/.cache/hyperperiod/{VERSION}/" in done.stderr


def test_doctor_speaks_of_commands_that_are_there(installed: Installed) -> None:
    findings = json.loads(installed.run("doctor", "--json").stdout)["findings"]
    assert not [one for one in findings if one["install"].startswith("make ")]


def test_linux_is_built_without_a_compiler(
    installed: Installed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The programs come with the wheel; the machine's kernel and shell are unpacked."""
    built = need_linux()
    archive = installed.site / "hyperperiod" / PREBUILT.name
    prebuilt(built, archive)
    tools = tmp_path / "tools"
    tools.mkdir()
    for path in Path("/usr/bin").iterdir():
        if path.name not in COMPILERS:
            (tools / path.name).symlink_to(path)
    monkeypatch.setenv("PATH", str(tools))
    (tmp_path / "downloads").symlink_to(built.parent / "downloads")
    try:
        done = installed.run("linux", "build", "--into", str(tmp_path))
    finally:
        archive.unlink()
    assert done.returncode == 0, done.stderr
    daemon = tmp_path / "linux" / "hyperperiodd"
    said = subprocess.run([daemon, "--help"], capture_output=True, text=True, check=True).stdout
    assert "usage: hyperperiodd" in said
    contents = (tmp_path / "linux" / "initramfs.cpio").read_bytes()
    assert (tmp_path / "linux" / "hyperperiod.bpf.o").read_bytes() in contents
    assert (tmp_path / "linux" / "vmlinuz").read_bytes() == (built / "vmlinuz").read_bytes()


def test_guests_from_the_wheel_are_those_of_the_checkout(
    installed: Installed, tmp_path: Path
) -> None:
    if not shutil.which("aarch64-linux-gnu-gcc"):
        pytest.skip("aarch64-linux-gnu-gcc: not found; make deps installs it")
    done = installed.run("xen", "build", "guests", "--into", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert f"HYPERPERIOD_BUILD={tmp_path}" in done.stdout
    ours = image("arm64").parents[2] / "guests" / "executive.bin"
    assert (tmp_path / "guests" / "executive.bin").read_bytes() == ours.read_bytes()


@pytest.mark.slow
def test_xen_from_the_wheel_runs_a_system(
    installed: Installed, system: str, tmp_path: Path
) -> None:
    """The hypervisor whole, from nothing but the wheel and Xen's tarball."""
    tarball = next((image("arm64").parents[2] / "downloads").glob("xen_*.orig.tar.xz"))
    (tmp_path / "downloads").mkdir()
    (tmp_path / "downloads" / tarball.name).symlink_to(tarball)
    done = installed.run("xen", "build", "--into", str(tmp_path))
    assert done.returncode == 0, done.stderr
    if not shutil.which("qemu-system-aarch64") or not shutil.which("dtc"):
        pytest.skip("qemu-system-aarch64 or dtc: not found; make deps installs them")
    done = installed.run(
        "run", system, "--on", "xen", "--horizon", "100ms", HYPERPERIOD_BUILD=str(tmp_path)
    )
    assert done.returncode == 0, done.stderr


def test_a_system_runs_on_xen_from_the_wheel(installed: Installed, system: str) -> None:
    built = image("arm64").parents[2]
    if not shutil.which("qemu-system-aarch64") or not shutil.which("dtc"):
        pytest.skip("qemu-system-aarch64 or dtc: not found; make deps installs them")
    done = installed.run("xen", "build", "--into", str(built))
    assert (done.returncode, done.stderr) == (0, ""), "the checkout's was built anew"
    done = installed.run(
        "run", system, "--on", "xen", "--horizon", "100ms", HYPERPERIOD_BUILD=str(built)
    )
    assert done.returncode == 0, done.stderr
