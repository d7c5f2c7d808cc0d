# SPDX-License-Identifier: BSD-2-Clause
"""`trace check`: every property over one trace, as a result that people and programs can read."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hyperperiod.model import InputError
from hyperperiod.trace.format import (
    RECORD,
    Header,
    Progress,
    Records,
    end_ns,
    is_interrupted,
    read_windows,
)
from hyperperiod.trace.properties import (
    AT_ONCE,
    PROPERTIES,
    Property,
    PropertyVerdict,
    Status,
    check_windows,
)
from hyperperiod.trace.result import PropertyResult, TraceCheckResult, ViolationResult


@dataclass(frozen=True)
class CheckResult:
    """The answer of `trace check` about one trace: each property with what breaks it."""

    path: Path
    system: str
    host: str
    policy: str
    records: int
    horizon_ns: int
    end_ns: int
    interrupted: bool
    findings: tuple[tuple[Property, PropertyVerdict], ...]

    @property
    def ok(self) -> bool:
        """Returns whether no property fails; one that is skipped does not."""
        return all(finding.status is not Status.FAILS for _, finding in self.findings)

    @property
    def exit_code(self) -> int:
        """The exit code of `trace check`: 0 if all is well, 1 if a property fails."""
        return 0 if self.ok else 1

    @property
    def result(self) -> TraceCheckResult:
        """The object that `trace check --json` prints."""
        return TraceCheckResult(
            trace=str(self.path),
            system=self.system,
            host=self.host,
            policy=self.policy,
            records=self.records,
            horizon_ns=self.horizon_ns,
            end_ns=self.end_ns,
            interrupted=self.interrupted,
            ok=self.ok,
            properties=tuple(_property_result(one, found) for one, found in self.findings),
        )


def check_file(path: Path, progress: Progress | None = None) -> CheckResult:
    """Run every property over a trace file of any size; `progress` as of `check_all`.

    Raises InputError for a trace of a scheduler that a host has itself.
    """
    header, count, windows = read_windows(path, AT_ONCE)
    _require_ours(path, header)
    last = np.empty(0, RECORD)

    def each_window() -> Iterator[Records]:
        nonlocal last
        for window in windows:
            yield window
            last = window[-1:]

    found = check_windows(header, each_window(), count, progress)
    findings = tuple(zip(PROPERTIES, found, strict=True))
    return CheckResult(
        path=path,
        system=header["system"],
        host=header["host"],
        policy=header["policy"],
        records=count,
        horizon_ns=header["horizon_ns"],
        end_ns=end_ns(last),
        interrupted=is_interrupted(header, last),
        findings=findings,
    )


def _require_ours(path: Path, header: Header) -> None:
    """InputError for a scheduler that is none of ours: the properties say nothing of it.

    One of ours may be called like it, so the host says which it is: machine, dash, scheduler.
    """
    if "-" in header["host"]:
        found = f"{header['policy']}, a scheduler of the host's own"
        allowed = "a policy of Hyperperiod's, whose rules the properties are about"
        raise InputError(str(path), None, "policy", found, allowed)


def _property_result(one: Property, found: PropertyVerdict) -> PropertyResult:
    return PropertyResult(
        name=one.name,
        statement=one.statement,
        status=found.status.value,
        reason=found.reason,
        violations=found.count,
        examples=tuple(
            ViolationResult(time_ns=violation.time_ns, text=violation.text)
            for violation in found.violations
        ),
    )
