# SPDX-License-Identifier: BSD-2-Clause
"""What a run on Linux refuses, before anything is looked for or booted."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from hyperperiod.cli import main

DOMAIN = """
[[domain]]
name = "a"
scheduler = "{scheduler}"
vcpus = {vcpus}
interface = {{ period = "10ms", budget = "3ms" }}
[[domain.task]]
name = "t"
period = "20ms"
wcet = "1ms"
"""


def refused(file: Path) -> str:
    result = CliRunner().invoke(main, ["run", str(file), "--on", "linux", "--thefts"])
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    return result.stderr


@pytest.mark.parametrize(
    ("head", "domain", "found"),
    [
        ("pcpus = 9", ("rm", 1), "pcpus: found 9; allowed: at most 8 on Linux"),
        ("", ("rm", 2), "domain a: task t: vcpu: found nothing"),
        (
            "",
            ("gedf", 2),
            'scheduler: found "gedf"; allowed: rm, dm, fp, edf, fifo, executor, fair',
        ),
        (
            '[[stolen]]\nperiod = "10us"\nduration = "1us"',
            ("rm", 1),
            "stolen: found 1000000 thefts from a pcpu; allowed: at most 65536",
        ),
    ],
)
def test_what_a_run_has_no_room_for(
    head: str, domain: tuple[str, int], found: str, tmp_path: Path
) -> None:
    file = tmp_path / "system.toml"
    policy = "rtds" if "pcpus" in head or domain[1] > 1 else "ptps"
    scheduler, vcpus = domain
    text = DOMAIN.format(scheduler=scheduler, vcpus=vcpus)
    file.write_text(f'name = "s"\npolicy = "{policy}"\n{head}\n{text}')
    assert found in refused(file)
