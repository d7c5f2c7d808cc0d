# SPDX-License-Identifier: BSD-2-Clause
"""What xl prints of RTDS, read as a system, and what is refused.

That this is how xl prints it is seen on a whole machine (`tests/export/test_xl_on_stack.py`).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hyperperiod.model import InputError, System, load_system

POOLS = """\
Name               CPUs   Sched     Active   Domain count
Pool-0               2    credit2       y          1
rt                   2       rtds       y          2
"""
HEADER = "Name                                ID VCPU    Period    Budget  Extratime\n"
CONTROL = "control                              3    0     10000      4000         no\n"
VIDEO = """\
video                                4    0     20000      5000        yes
video                                4    1     20000      7000        yes
"""
SERVERS = f"Cpupool rt: sched=RTDS\n{HEADER}{CONTROL}{VIDEO}"
OTHER = f"Cpupool b: sched=RTDS\n{HEADER}audio two  9    0     10000      4000         no\n"
US = 1_000


def load(folder: Path, text: str) -> System:
    path = folder / "machine"
    path.write_text(text)
    return load_system(path)


def test_a_pool_becomes_a_system(tmp_path: Path) -> None:
    system = load(tmp_path, POOLS + SERVERS)
    assert (str(system.policy), system.pcpus) == ("rtds", 2)
    control, video = system.domains
    assert control.interface is not None
    assert (control.interface.period_ns, control.interface.budget_ns) == (10_000 * US, 4_000 * US)
    assert not control.extra
    budgets = [keys.interface.budget_ns for keys in video.each_vcpu if keys.interface is not None]
    assert budgets == [5_000 * US, 7_000 * US]
    assert all(keys.extra for keys in video.each_vcpu)


def test_pools_of_one_cpu_each_are_pcpus(tmp_path: Path) -> None:
    pools = POOLS.replace("rt                   2", "rt                   1")
    system = load(tmp_path, f"{pools}b 1 rtds y 1\n{SERVERS}{OTHER}")
    assert (str(system.policy), system.pcpus) == ("deferrable+edf+extra", 2)
    assert [domain.pcpu for domain in system.domains] == [0, 0, 1]
    assert system.domains[2].name == "audio two"


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        (SERVERS, 3, "nothing of the pool rt"),
        (POOLS, 1, "no server of RTDS"),
        (f"{POOLS}b 1 rtds y 1\n{SERVERS}{OTHER}", 7, "2 pools of RTDS with several cpus"),
        (POOLS + SERVERS.replace("10000      4000", "10000"), 6, "'control "),
        (POOLS + SERVERS.replace(" 4000 ", " 40000 "), 6, "40ms"),
        (f"{POOLS}{SERVERS}(XEN) something\n", 9, "'(XEN) something'"),
    ],
)
def test_what_is_no_such_list_is_refused(tmp_path: Path, text: str, line: int, found: str) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, text)
    (problem,) = caught.value.problems
    assert found in problem.found
    assert problem.line == line
    assert problem.allowed
