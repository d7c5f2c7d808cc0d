# SPDX-License-Identifier: BSD-2-Clause
"""Adds the scheduler to a tree of Xen's source: `hyperperiod xen patch TREE`.

Our files go to a folder of their own, xen/common/sched/hyperperiod/, and the public interface to
xen/include/public/hyperperiod.h. Six files of Xen get lines that say so; nothing of Xen is
taken away. A line goes between two lines that Xen 4.20 has, and where these are not next to
each other exactly once, nothing at all is written. Doing it twice changes nothing.

Inside the folder everything lies as it does here, with `hosts/xen` at its top: there is
`#include "core/hyperperiod.h"`, `#include "ring.h"`, and `#include "private.h"` is what Xen's
schedulers share.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hyperperiod.hosts.xen.build.job import BuildError
from hyperperiod.resources import SOURCES

FOLDER = Path("xen/common/sched/hyperperiod")
PUBLIC = Path("xen/include/public/hyperperiod.h")

BAD_INPUT = 2


class HookError(BuildError):
    """A place in Xen's source is not there; says which."""

    def __init__(self, message: str) -> None:
        super().__init__(message, BAD_INPUT)


@dataclass(frozen=True)
class Hook:
    """Lines to add to one file of Xen, between `after` and `before`, which follow each other."""

    file: str
    after: str
    lines: str
    before: str = ""

    def applied(self, text: str) -> str:
        """The file's text with the lines in it."""
        if text.count(self.after + self.lines + self.before) == 1:
            return text
        place = self.after + self.before
        if text.count(place) != 1:
            raise HookError(
                f"{self.file}: found {text.count(place)} places for\n{self.lines}"
                f"which goes after\n{self.after}"
                + (f"and before\n{self.before}" if self.before else "")
                + "allowed: exactly one; is this Xen 4.20?"
            )
        return text.replace(place, self.after + self.lines + self.before)


HOOKS = (
    Hook(
        "xen/common/sched/Makefile",
        after="obj-$(CONFIG_SCHED_CREDIT2) += credit2.o\n",
        lines="obj-$(CONFIG_SCHED_HYPERPERIOD) += hyperperiod/\n",
    ),
    Hook(
        "xen/common/sched/Kconfig",
        after="\t  in embedded or HPC scenarios.\n\n",
        lines="config SCHED_HYPERPERIOD\n"
        '\tbool "Hyperperiod scheduler support (UNSUPPORTED)" if UNSUPPORTED\n'
        "\tdefault y\n"
        "\thelp\n"
        "\t  Hierarchical real-time scheduling by servers: budget, order and\n"
        "\t  slack rules that are chosen on the command line or by a toolstack.\n\n",
        before='choice\n\tprompt "Default Scheduler?"\n',
    ),
    # Room for our name in the option `sched=`.
    Hook(
        "xen/common/sched/core.c",
        after="static char __initdata opt_sched[",
        lines="6 + ",
        before="10] = CONFIG_SCHED_DEFAULT;\n",
    ),
    # A pcpu that leaves its pool would write to the unit that it ran last, freed or not.
    Hook(
        "xen/common/sched/core.c",
        after="            unit->priv = NULL;\n",
        lines="            /* Who ran here last may be gone, and alone nobody waits. */\n"
        "            if ( sr->granularity == 1 )\n"
        "                unit->next_task = unit;\n",
        before="            atomic_set(&unit->next_task->rendezvous_out_cnt, 0);\n",
    ),
    Hook(
        "xen/include/public/domctl.h",
        after='#include "memory.h"\n',
        lines='#include "hyperperiod.h"\n',
    ),
    Hook(
        "xen/include/public/domctl.h",
        after="        struct xen_domctl_sched_rtds rtds;\n",
        lines="        struct xen_domctl_sched_hyperperiod hyperperiod;\n",
        before="    } u;\n    uint32_t vcpuid;\n",
    ),
    Hook(
        "xen/include/public/domctl.h",
        after="        struct xen_domctl_sched_rtds rtds;\n",
        lines="        struct xen_domctl_sched_hyperperiod hyperperiod;\n",
        before="        struct {\n"
        "            XEN_GUEST_HANDLE_64(xen_domctl_schedparam_vcpu_t) vcpus;\n",
    ),
    Hook(
        "xen/include/public/sysctl.h",
        after="        struct xen_sysctl_credit2_schedule sched_credit2;\n",
        lines="        XEN_GUEST_HANDLE_64(xen_sysctl_hyperperiod_t) hyperperiod;\n",
        before="    } u;\n",
    ),
    Hook(
        "xen/include/public/trace.h",
        after="#define TRC_SCHED_SNULL    5\n",
        lines="#define TRC_SCHED_HYPERPERIOD 6\n",
    ),
)


def our_files() -> dict[Path, str]:
    """What the tree gets of ours: place in it, text."""
    here = SOURCES / "hosts" / "xen"
    files = {FOLDER / path.name: path for path in sorted(here.glob("*.[ch]"))}
    for path in sorted((SOURCES / "core").rglob("*.h")):
        files[FOLDER / path.relative_to(SOURCES)] = path
    files[PUBLIC] = here / "public.h"
    texts = {place: path.read_text() for place, path in files.items()}
    texts[FOLDER / "Makefile"] = _makefile(here)
    return texts


def _makefile(folder: Path) -> str:
    """Kbuild's list of our objects, and where their includes are looked for."""
    objects = "".join(f"obj-y += {path.stem}.o\n" for path in sorted(folder.glob("*.c")))
    return (
        f"CFLAGS-y += -I$(srctree)/common/sched -I$(srctree)/common/sched/hyperperiod\n\n{objects}"
    )


def hooked_files(source: Path) -> dict[Path, str]:
    """The files of Xen with our lines in them; raises HookError unless all have their places."""
    texts: dict[Path, str] = {}
    for hook in HOOKS:
        place = Path(hook.file)
        if place not in texts:
            try:
                texts[place] = (source / place).read_text()
            except (OSError, UnicodeDecodeError) as problem:
                raise HookError(f"{hook.file}: cannot be read: {problem}; is this Xen?") from None
        texts[place] = hook.applied(texts[place])
    return texts


def install(source: Path, tree: Path) -> None:
    """Makes `tree`, a copy of `source` or the same folder, one that has the scheduler.

    Only files whose text changes are written, so that a build in the tree stays incremental.
    """
    texts = hooked_files(source) | our_files()
    for path in sorted((tree / FOLDER).rglob("*")):
        if path.is_file() and path.relative_to(tree) not in texts:
            path.unlink()
    for place, text in texts.items():
        target = tree / place
        if not target.is_file() or target.read_text() != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
