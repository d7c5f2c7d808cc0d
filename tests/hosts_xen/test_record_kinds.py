# SPDX-License-Identifier: BSD-2-Clause
"""The control tool has a name for every kind of record: without one it does not build.

It is built with Xen's own headers, which few machines have, so this reads its source instead.
"""

from __future__ import annotations

import re
from pathlib import Path

XEN = Path(__file__).parents[2] / "hosts" / "xen"


def test_every_kind_of_record_has_a_name() -> None:
    listed = re.search(r"enum hp_record_kind \{(.*?)\n\};", (XEN / "ring.h").read_text(), re.S)
    assert listed is not None
    kinds = re.findall(r"^    (HP_RECORD_\w+) = \d+", listed[1], re.M)
    named = re.findall(r"case (HP_RECORD_\w+):\n +return \"", (XEN / "control/trace.c").read_text())
    assert len(kinds) > 20
    assert sorted(named) == sorted(kinds)
