# SPDX-License-Identifier: BSD-2-Clause
"""The scheduler as a series of patches for a release of Xen: `hyperperiod xen patches`.

A release has a folder in hosts/xen/patches with its series, in the order of the file names. What
changes Xen's own files (fixes of Xen, the scheduler's id, xl) is kept there by hand, as
`git format-patch` writes it. The scheduler's own files exist once, in core/, record/, words/ and
hosts/xen/: in their place stands NAME.message, a mail without a diff, and the patch is made here by
adding all of them as new files. So the series that is sent, or applied by `git am`, and the tree
that `hyperperiod xen build` compiles come from the same texts.

In Xen's tree our files lie in xen/common/sched/hyperperiod/ as they do here, with `hosts/xen` at
the top: there is `#include "core/hyperperiod.h"`, `#include "record/ring.h"`, and
`#include "private.h"` is what Xen's schedulers share. The public interface is
xen/include/public/hyperperiod.h.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hyperperiod.hosts.build_job import BuildError, need
from hyperperiod.model.errors import InputError
from hyperperiod.model.policy import PRESETS, Budget, Order, Slack
from hyperperiod.resources import SOURCES

FOLDER = Path("xen/common/sched/hyperperiod")
PUBLIC = Path("xen/include/public/hyperperiod.h")

SERIES = SOURCES / "hosts" / "xen" / "patches"

# Text matters more to a hypervisor than what gcc's -O2 aligns and duplicates for speed: with these
# the scheduler is 1.3 (arm64) to 2.5 KiB (x86) smaller, measured.
SMALLER = (
    "-falign-loops=1",
    "-falign-jumps=1",
    "-fno-tree-pre",
    "-fno-tree-dominator-opts",
    "-fno-tree-loop-im",
    "-fno-move-loop-invariants",
    "-fno-tree-vrp",
    "-fno-ipa-sra",
    "-fno-partial-inlining",
    "-fno-reorder-blocks-and-partition",
)

BAD_INPUT = 2

# Git as it comes: neither a repository around the folder that it works in nor the user's settings.
PLAIN_GIT = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}


@dataclass(frozen=True)
class Patch:
    """One patch of a series: its file name, and the mail that `git am` takes."""

    name: str
    text: str

    @property
    def diff(self) -> str:
        """The patch without its message."""
        return self.text[self.text.index("\ndiff --git ") :]

    @property
    def files(self) -> set[Path]:
        """The files that the patch changes, adds or removes."""
        found = re.findall(r"^diff --git a/(\S+) b/(\S+)$", self.text, re.MULTILINE)
        return {Path(name) for names in found for name in names}


def releases() -> tuple[str, ...]:
    """The releases of Xen that there is a series for, such as 4.20."""
    return tuple(sorted(path.name for path in SERIES.iterdir() if path.is_dir()))


def series(release: str) -> list[Patch]:
    """The patches for a release of Xen, in order."""
    patches = []
    for path in sorted((SERIES / release).iterdir()):
        text = path.read_text()
        if path.suffix == ".message":
            patches.append(Patch(f"{path.stem}.patch", f"{text}---\n\n{_additions()}-- \n"))
        else:
            patches.append(Patch(path.name, text))
    return patches


def our_files() -> dict[Path, str]:
    """The scheduler's own files: place in Xen's tree, text."""
    here = SOURCES / "hosts" / "xen"
    files = {FOLDER / path.name: path for path in sorted(here.glob("*.[ch]"))}
    for folder in ("core", "record", "words"):
        for path in sorted((SOURCES / folder).rglob("*.h")):
            files[FOLDER / path.relative_to(SOURCES)] = path
    # Its one place is Xen's folder of public headers.
    del files[FOLDER / "public.h"]
    files[PUBLIC] = here / "public.h"
    texts = {place: path.read_text() for place, path in files.items()}
    texts[FOLDER / "Makefile"] = _makefile(here)
    texts[FOLDER / "Kconfig"] = _kconfig()
    return texts


GLOBAL = "HYPERPERIOD_GLOBAL"
"""The option of Xen's configuration for policies that know all pcpus of a pool."""
CHANGES = "HYPERPERIOD_CHANGES"
"""The option for toolstacks, and for what a script changes while guests run."""


def rule_options() -> dict[str, str]:
    """The option of Xen's configuration for each rule of the core, and what it is about."""
    return {
        f"HYPERPERIOD_{kind}_{rule.upper().replace('-', '_')}": f"{title} {rule}"
        for kind, title, rules in (
            ("BUDGET", "budget rule", Budget),
            ("ORDER", "order rule", Order),
            ("SLACK", "slack rule", Slack),
        )
        for rule in rules
    }


def left_out_for(policy: str) -> set[str]:
    """The options that a policy does without, by its known name, where each pcpu decides alone."""
    rules = PRESETS[policy]
    needed = {
        f"HYPERPERIOD_{kind}_{rule.upper().replace('-', '_')}"
        for kind, rule in (("BUDGET", rules.budget), ("ORDER", rules.order), ("SLACK", rules.slack))
    }
    return {*rule_options(), GLOBAL} - needed


def _kconfig() -> str:
    """Kbuild's options of the scheduler: which rules are in it, and in which scope."""
    options = "".join(
        f'\nconfig {name}\n\tbool "{title[0].upper()}{title[1:]}"\n\tdefault y\n'
        for name, title in rule_options().items()
    )
    return (
        "# SPDX-License-Identifier: GPL-2.0-only\n"
        "# A policy is one rule of each kind. What is left out is refused and not compiled.\n"
        f"if SCHED_HYPERPERIOD\n{options}\n"
        f'config {GLOBAL}\n\tbool "Global policies: one queue for all pcpus of a pool"\n'
        "\tdefault y\n\n"
        f'config {CHANGES}\n\tbool "Toolstacks, statistics, changes while guests run"\n'
        "\tdefault y\n\n"
        'config HYPERPERIOD_TEST\n\tbool "Scripts of experiments on the command line"\n\nendif\n'
    )


def condition_of(source: str) -> str:
    """When Kbuild compiles one of our files."""
    return f"$(CONFIG_{CHANGES})" if source == "toolstack.c" else "y"


def _makefile(folder: Path) -> str:
    """Kbuild's list of our objects, and where their includes are looked for."""
    objects = "".join(
        f"obj-{condition_of(path.name)} += {path.stem}.o\n" for path in sorted(folder.glob("*.c"))
    )
    smaller = "".join(f"$(call cc-option-add,CFLAGS-y,CC,{flag})\n" for flag in SMALLER)
    return (
        "# SPDX-License-Identifier: GPL-2.0-only\n"
        "CFLAGS-y += -I$(srctree)/common/sched -I$(srctree)/common/sched/hyperperiod\n"
        f"{smaller}\n{objects}"
    )


def _additions() -> str:
    """A diff that adds our files."""
    return "".join(_addition(place, text) for place, text in sorted(our_files().items()))


def _addition(place: Path, text: str) -> str:
    """A diff that adds one file."""
    lines = text.splitlines(keepends=True)
    return (
        f"diff --git a/{place} b/{place}\nnew file mode 100644\n--- /dev/null\n+++ b/{place}\n"
        f"@@ -0,0 +1,{len(lines)} @@\n" + "".join(f"+{line}" for line in lines)
    )


def patched_files(source: Path, release: str) -> dict[Path, str]:
    """All files that the series changes or adds in `source`, which stays as it is: place, text.

    A patch may find its lines at others than the numbers that it says, but all lines of its
    context must be there: else raises BuildError, which says what git said.
    """
    need({"git": "git"}, "apply the patches to Xen's source")
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder).resolve()
        for patch in series(release):
            for place in patch.files:
                if (source / place).is_file() and not (tree / place).exists():
                    (tree / place).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(source / place, tree / place)
            _apply(patch, tree, source, release)
        return {
            path.relative_to(tree): path.read_text() for path in tree.rglob("*") if path.is_file()
        }


def _apply(patch: Patch, tree: Path, source: Path, release: str) -> None:
    """Applies one patch in a folder that has the files it is about; raises BuildError."""
    done = subprocess.run(
        ["git", "apply", "-"],
        cwd=tree,
        env=os.environ | PLAIN_GIT | {"GIT_CEILING_DIRECTORIES": str(tree.parent)},
        input=patch.text,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise BuildError(
            f"{source}: {patch.name} does not apply:\n{done.stderr}"
            f"allowed: Xen {release}, without the series in it",
            BAD_INPUT,
        )


def write_series(release: str, folder: Path) -> list[Path]:
    """Writes the series into a folder; the files, in order.

    Raises InputError for a folder that has other patches: `git am FOLDER/*.patch` would take them.
    """
    patches = series(release)
    others = {path.name for path in folder.glob("*.patch")} - {patch.name for patch in patches}
    if others:
        found = f"{min(others)}, which is not of this series"
        raise InputError("", None, "--out", f"{found}, in {folder}", "a folder without patches")
    folder.mkdir(parents=True, exist_ok=True)
    for patch in patches:
        (folder / patch.name).write_text(patch.text)
    return [folder / patch.name for patch in patches]
