# SPDX-License-Identifier: BSD-2-Clause
"""The hypervisors: what they are built from, what the scheduler adds, what it leaves alone."""

import os
import re
import shutil
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from bench.xen_text import stays as bytes_that_stay
from tests.support.xen_images import guest, image

from hyperperiod.cli.xen import TARGETS as NAMES
from hyperperiod.hosts import build_job as job
from hyperperiod.hosts.xen.build import patches, programs
from hyperperiod.hosts.xen.build.source import mirror
from hyperperiod.hosts.xen.build.targets import TARGETS
from hyperperiod.hosts.xen.images import current_executive, current_hypervisor
from hyperperiod.model import MissingError

TOP = Path(__file__).parents[2]

# What the scheduler may add to a hypervisor's code: it shall not grow. (The aim is 24 KiB; what
# is missing is in docs/benchmarks.md.) Xen drops the part that reads the command line (.init)
# when it has booted.
MAX_TEXT = 35 * 1024

# Structures that a stock toolstack exchanges with Xen; they must stay as large as they are.
STRUCTURES = (
    "struct xen_domctl",
    "struct xen_domctl_scheduler_op",
    "struct xen_domctl_schedparam_vcpu",
    "struct xen_sysctl",
    "struct xen_sysctl_scheduler_op",
)


def run_build(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hyperperiod", "xen", "build", *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )


def need_cross_compiler() -> None:
    for program in ("aarch64-linux-gnu-gcc", "bison", "flex"):
        if not shutil.which(program):
            pytest.skip(f"{program}: not found; make deps installs it")


def global_symbols(path: Path) -> tuple[set[str], set[str]]:
    """Returns the global names that an object file defines, and those that it needs."""
    listing = subprocess.run(
        ["readelf", "-sW", path], check=True, capture_output=True, text=True
    ).stdout
    found = re.findall(r" (?:GLOBAL|WEAK) +DEFAULT +(\S+) (\S+)$", listing, re.MULTILINE)
    needed = {name for index, name in found if index == "UND"}
    return {name for index, name in found if index != "UND"}, needed


@pytest.mark.parametrize("flavour", ["arm64", "x86_64-debug"])
def test_the_schedulers_files_know_only_those_above_them(flavour: str) -> None:
    """As scheduler.h lists them: no two of them can be read only together."""
    header = (TOP / "hosts/xen/scheduler.h").read_text()
    order = re.findall(r"^ \*   (\w+)\.c ", header, re.MULTILINE)
    assert sorted(order) == sorted(path.stem for path in (TOP / "hosts/xen").glob("*.c"))
    folder = image(flavour).parent / patches.FOLDER.relative_to("xen")
    symbols = {name: global_symbols(folder / f"{name}.o") for name in order}
    ours = set[str]().union(*(defined for defined, _ in symbols.values()))
    above = set[str]()
    for name, (defined, needed) in symbols.items():
        assert (needed & ours) <= above, name
        above |= defined


def test_a_folder_that_is_no_xen(tmp_path: Path) -> None:
    need_cross_compiler()
    done = run_build("arm64", "--into", str(tmp_path / "build"), XEN_SRC=str(tmp_path))
    assert done.returncode == 2
    assert f"error: --xen-source: found no xen/Makefile in {tmp_path}" in done.stderr


def test_another_version(tmp_path: Path) -> None:
    need_cross_compiler()
    (tmp_path / "xen").mkdir()
    makefile = "export XEN_VERSION       = 4\nexport XEN_SUBVERSION    = 17\n"
    (tmp_path / "xen" / "Makefile").write_text(makefile)
    done = run_build("arm64", "--into", str(tmp_path / "build"), XEN_SRC=str(tmp_path))
    assert done.returncode == 2
    assert f"found Xen 4.17 in {tmp_path}; allowed: 4.20" in done.stderr


def test_a_tree_with_objects_in_it(tmp_path: Path) -> None:
    need_cross_compiler()
    (tmp_path / "xen").mkdir()
    makefile = "export XEN_VERSION       = 4\nexport XEN_SUBVERSION    = 20\n"
    (tmp_path / "xen" / "Makefile").write_text(makefile)
    (tmp_path / "xen" / ".config").write_text("")
    done = run_build("arm64", "--into", str(tmp_path / "build"), XEN_SRC=str(tmp_path))
    assert done.returncode == 2
    assert "a tree in which Xen was built; allowed: a clean one" in done.stderr


def test_a_missing_tool_names_the_command_that_installs_it(tmp_path: Path) -> None:
    done = run_build("arm64", PATH=str(tmp_path))
    assert done.returncode == 3
    assert "apt-get install" in done.stderr
    assert "bison" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_missing_header_names_the_command_that_installs_it() -> None:
    job.need_headers({"stdio.h": "libc6-dev"}, "print")
    with pytest.raises(MissingError, match=r"^no/such\.h: not found, needed to fly") as caught:
        job.need_headers({"stdio.h": "libc6-dev", "no/such.h": "libno-dev"}, "fly")
    assert caught.value.install.endswith(" libno-dev")


def test_what_is_measured_was_built_from_what_is_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older hypervisor or guest is refused with the command; times of files say nothing."""
    assert current_hypervisor() == image("arm64")
    assert current_executive() == guest()
    for folder in ("core", "guests", "hosts/xen", "record", "words"):
        shutil.copytree(TOP / folder, tmp_path / folder)
    for module in (patches, programs):
        monkeypatch.setattr(module, "SOURCES", tmp_path)
    os.utime(tmp_path / "core" / "queue.h")
    assert current_hypervisor() == image("arm64")
    (tmp_path / "core" / "queue.h").write_text("/* Another one. */\n")
    for current in (current_hypervisor, current_executive):
        with pytest.raises(MissingError, match="built from other sources") as caught:
            current()
        assert caught.value.install == "hyperperiod xen build arm64"


def test_an_unknown_flavour() -> None:
    done = run_build("riscv")
    assert done.returncode == 2
    assert "arm64-debug" in done.stderr


def test_the_command_knows_all_that_can_be_built() -> None:
    assert sorted(NAMES) == sorted(TARGETS)


def test_a_folder_that_make_cannot_read() -> None:
    need_cross_compiler()
    done = run_build("arm64", "--into", "two words")
    assert done.returncode == 2
    assert not Path("two words").exists(), "a refused build made its folder"
    assert "allowed: a folder without blanks and colons" in done.stderr


def test_sources_may_be_read_only_and_only_what_changed_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_cross_compiler()
    sources = tmp_path / "sources"
    for folder in ("core", "guests", "hosts/xen", "record", "words"):
        shutil.copytree(TOP / folder, sources / folder)
    before = names_below(sources)
    monkeypatch.setattr(programs, "SOURCES", sources)
    this = job.BuildJob(tmp_path / "build", None, lambda _title, _lines: nullcontext(print))
    made = programs.build_executive(this)
    assert made == tmp_path / "build" / "guests" / "executive.bin"
    assert names_below(sources) == before, "something was written beside the sources"
    first = made.stat().st_mtime_ns
    programs.build_executive(this)
    assert made.stat().st_mtime_ns == first
    changed = sources / "words" / "words.h"
    was = changed.stat()
    changed.write_text(changed.read_text() + "/* more */\n")
    # Files of an installed package are older than what was built from another one.
    os.utime(changed, ns=(was.st_atime_ns, was.st_mtime_ns))
    programs.build_executive(this)
    assert made.stat().st_mtime_ns != first


def names_below(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


def test_an_interrupted_program_is_ended_and_waited_for(tmp_path: Path) -> None:
    """It gets the time to remove what it has half written."""
    script = "trap 'echo swept > swept; exit 1' TERM; echo begun; while :; do sleep 0.01; done"

    def interrupt(_lines: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        job.run_logged(["sh", "-c", f"cd {tmp_path}; {script}"], tmp_path / "log", interrupt)
    assert (tmp_path / "swept").read_text() == "swept\n"


def test_a_mirror_copies_changes_and_keeps_what_is_the_same(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    (theirs / "folder").mkdir(parents=True)
    (theirs / ".git").mkdir()
    (theirs / ".git" / "HEAD").write_text("")
    for name in ("same", "changes", "folder/goes", "kept"):
        (theirs / name).write_text(name)
    (theirs / "link").symlink_to("same")
    mirror(theirs, ours, keep=set())
    assert (ours / "link").readlink() == Path("same")
    assert not (ours / ".git").exists()
    before = (ours / "same").stat().st_mtime_ns
    (ours / "kept").write_text("ours")
    (theirs / "changes").write_text("changed")
    (theirs / "folder" / "goes").unlink()
    mirror(theirs, ours, keep={Path("kept")})
    assert (ours / "same").stat().st_mtime_ns == before
    assert (ours / "changes").read_text() == "changed"
    assert not (ours / "folder" / "goes").exists()
    assert (ours / "kept").read_text() == "ours"


def test_building_again_does_nothing() -> None:
    hypervisor = image("arm64")
    before = hypervisor.stat().st_mtime_ns
    done = run_build("arm64")
    assert done.returncode == 0
    assert done.stderr == "", "a step was done"
    assert done.stdout.splitlines()[0] == f"arm64: {hypervisor}"
    assert hypervisor.stat().st_mtime_ns == before


@pytest.mark.parametrize("flavour", ["arm64", pytest.param("x86_64", marks=pytest.mark.slow)])
def test_the_scheduler_is_small(flavour: str) -> None:
    built = image(flavour).parent / "common/sched/hyperperiod/built_in.o"
    stays = bytes_that_stay(built)
    print(f"{flavour}: {stays}")
    assert stays <= MAX_TEXT
    assert stays > 4096, "this is not the scheduler"


def test_structures_that_stock_tools_know_keep_their_sizes(tmp_path: Path) -> None:
    xen = image("arm64").parents[1]
    with_it = sizes_of_structures(tmp_path, xen / "source-hyperperiod")
    without = sizes_of_structures(tmp_path, xen / "source")
    assert with_it == without
    assert set(with_it) == set(STRUCTURES)


def sizes_of_structures(folder: Path, tree: Path) -> dict[str, str]:
    """What a toolstack, compiled against a tree's headers, takes for their sizes."""
    lines = "".join(f'    printf("{name}=%zu\\n", sizeof({name}));\n' for name in STRUCTURES)
    (folder / "sizes.c").write_text(
        "#include <stdint.h>\n#include <stdio.h>\n"
        "#include <public/domctl.h>\n#include <public/sysctl.h>\n"
        f"int main(void) {{\n{lines}}}\n"
    )
    command = ["cc", "-D__XEN_TOOLS__", f"-I{tree / 'xen/include'}", "-o", "sizes", "sizes.c"]
    subprocess.run(command, cwd=folder, check=True)
    output = subprocess.run(folder / "sizes", check=True, capture_output=True, text=True).stdout
    return dict(line.rsplit("=", 1) for line in output.splitlines())
