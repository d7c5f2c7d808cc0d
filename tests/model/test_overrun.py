# SPDX-License-Identifier: BSD-2-Clause
"""What an overrun may say, and what of it the analysis takes no notice of."""

from __future__ import annotations

from pathlib import Path

import pytest

from hyperperiod.analysis import analyze, resolve
from hyperperiod.model import InputError, load_system, to_toml

TEXT = """name = "o"
policy = "crps"
[[domain]]
name = "a"
vcpus = 2
interface_period = "10ms"
task = [
    { name = "t", period = "20ms", wcet = "4ms", vcpu = 0 },
    { name = "hog", kind = "busy", vcpu = 1 },
]
[[domain.vcpu]]
[[domain.vcpu]]
best_effort = true
"""
OVERRUN = '[[overrun]]\ntask = "a.t"\nfactor = 1.5\n'


def in_file(folder: Path, text: str) -> Path:
    file = folder / "o.toml"
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            'task = "a.x"\nfactor = 2',
            r"overrun\[0\]\.task: found 'a\.x'; allowed: domain\.task of a task: a\.t$",
        ),
        ('task = "a.hog"\nfactor = 2', r"the busy task 'a\.hog'; allowed: a task whose jobs end"),
        ('task = "a.t"\nfactor = 1', r"found 1; allowed: a number above 1 and at most 1000"),
        ('task = "a.t"\nfactor = 1.0005', "with at most 3 decimals"),
        ('task = "a.t"\nfactor = 2\nfrom = "5ms"\nto = "5ms"', r"\.to: found 5ms; allowed: after"),
        ('task = "a.t"\nfactor = 2\nevery = 0', r"every: found 0; allowed: at least 1"),
        ('task = "a.t"\nfactor = 2\n' + OVERRUN, r"'a\.t' a second time; allowed: one overrun"),
    ],
)
def test_what_an_overrun_may_not_say(tmp_path: Path, lines: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_system(in_file(tmp_path, f"{TEXT}[[overrun]]\n{lines}\n"))


def test_the_analysis_knows_nothing_of_it_and_a_file_keeps_it(tmp_path: Path) -> None:
    plain = load_system(in_file(tmp_path, TEXT))
    longer = load_system(in_file(tmp_path, TEXT + OVERRUN))
    assert analyze(longer) == analyze(plain)
    resolved = resolve(longer)
    assert resolved.domains == resolve(plain).domains
    assert load_system(in_file(tmp_path, to_toml(resolved))).overruns == longer.overruns
