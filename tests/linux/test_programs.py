# SPDX-License-Identifier: BSD-2-Clause
"""What the programs of the scheduler in Linux take is what the page says."""

from __future__ import annotations

import pytest
from tests.support.on_linux import need_linux

from bench import linux_programs
from hyperperiod.measured import read


@pytest.mark.slow
def test_the_file_of_measured_numbers_is_still_true() -> None:
    need_linux()
    kept = read()["linux_programs"].numbers
    found = {row.name: row.value for row in linux_programs.measure()}
    assert kept.keys() == found.keys()
    for name, value in found.items():
        assert value == pytest.approx(kept[name].value, rel=0.1), name
