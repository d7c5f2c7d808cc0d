# SPDX-License-Identifier: BSD-2-Clause
"""`make clang-tidy` sees what is wrong in a unit and in the core's headers that it includes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tools.check_tidy import PROGRAM, findings

BROKEN = """\
#include "core/wide.h"
hp_u64 entry(hp_u32 n);
hp_u64 entry(hp_u32 n) { return hp_parts(n * 4u, n ? n : 1u) + sizeof(sizeof(n)); }
"""


@pytest.mark.skipif(shutil.which(PROGRAM) is None, reason="clang-tidy 19 is not installed")
def test_what_is_wrong_is_found(tmp_path: Path) -> None:
    (tmp_path / "broken.c").write_text(BROKEN)
    found = "\n".join(findings(tmp_path / "broken.c"))
    assert "bugprone-implicit-widening-of-multiplication-result" in found
    assert "bugprone-sizeof-expression" in found
