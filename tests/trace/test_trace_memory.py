# SPDX-License-Identifier: BSD-2-Clause
"""Traces that are larger than the memory: what a check or a conversion keeps does not grow."""

import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from hyperperiod.analysis import resolve
from hyperperiod.model import load_system
from hyperperiod.runs import simulate
from hyperperiod.trace import convert
from hyperperiod.trace.check import check_file
from hyperperiod.trace.format import CHUNK, RECORD, Records, Windows, read_windows

SYSTEM = Path(__file__).parents[2] / "systems" / "flight-control.toml"

PEAK = """
import resource, sys
from pathlib import Path
trace, how = Path(sys.argv[1]), sys.argv[2]
if how == "check":
    from hyperperiod.trace.check import check_file
    assert check_file(trace).ok
else:
    from hyperperiod.trace.convert import writer_for
    from hyperperiod.trace.format import read
    writer_for(how)(*read(trace), Path("/dev/null"), lambda done: None)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak_mib(trace: Path, how: str) -> float:
    """The most memory that a check or a conversion of the trace has at once."""
    command = [sys.executable, "-c", PEAK, str(trace), how]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(done.stdout) / 1024


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """One of some pieces, and one of three times as many."""
    system = resolve(load_system(SYSTEM))
    folder = tmp_path_factory.mktemp("traces")
    found = []
    for seconds in (280, 840):
        found.append(folder / f"{seconds}.hpt")
        simulate(system, seconds * 10**9, 1, found[-1])
    return found


@pytest.mark.parametrize("how", ["check", *convert.WRITERS])
def test_a_longer_trace_takes_no_more_memory(how: str, traces: list[Path]) -> None:
    sizes = [trace.stat().st_size for trace in traces]
    assert sizes[0] > 4 * CHUNK * RECORD.itemsize
    more = peak_mib(traces[1], how) - peak_mib(traces[0], how)
    assert more < (sizes[1] - sizes[0]) / (1 << 20) / 3


@pytest.mark.parametrize("at_once", [1 << 10, 1 << 12])
def test_a_check_keeps_some_windows_of_any_trace(
    at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted are the windows that are there when the next one comes."""
    alive: list[int] = []

    def watched(path: Path, size: int) -> Windows:
        header, total, windows = read_windows(path, size)
        seen: list[weakref.ref[Records]] = []

        def each() -> Iterator[Records]:
            for window in windows:
                assert len(window) <= at_once
                seen.append(weakref.ref(window))
                alive.append(sum(one() is not None for one in seen))
                yield window

        return Windows(header, total, each())

    monkeypatch.setattr("hyperperiod.trace.check.read_windows", watched)
    monkeypatch.setattr("hyperperiod.trace.check.AT_ONCE", at_once)
    trace = tmp_path / "run.hpt"
    simulate(resolve(load_system(SYSTEM)), 10 * 10**9, 1, trace)
    found = check_file(trace)
    assert found.ok
    assert len(alive) == -(-found.records // at_once) > 8
    assert max(alive) <= 3
