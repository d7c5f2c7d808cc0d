# SPDX-License-Identifier: BSD-2-Clause
"""Reading the system that a command is about."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from hyperperiod.model import InputError, Policy, System, load_system, with_policy
from hyperperiod.model.load import shown_name
from hyperperiod.whole_file import whole_file

if TYPE_CHECKING:
    from hyperperiod.analysis.analyze import Analysis
    from hyperperiod.analysis.certificate import Certificate
    from hyperperiod.analysis.result import AnalysisResult


def read_system(
    system_file: str, policy: Policy | None, *, pinned: bool = True, pcpus: int | None = None
) -> System:
    """The system of the file, under `policy` and on `pcpus` where one was asked for.

    Every domain must have its pcpu where the policy wants one; only `fit` does without.
    """
    if policy is None:
        return load_system(system_file, pinned=pinned, pcpus=pcpus)
    return with_policy(load_system(system_file, pcpus=pcpus), policy, pinned=pinned)


def certified_file(system_file: str, key: str, policy: Policy | None = None) -> bytes:
    """The bytes of a system file of which there will be a certificate.

    InputError for what a checker would not find in the file, which it reads as well.
    """
    if policy is not None:
        allowed = "the policy that the system file names"
        raise InputError("", None, key, "--policy beside it", allowed)
    if not system_file.endswith(".toml"):
        found = f"a system that was read from {shown_name(system_file)}"
        raise InputError("", None, key, found, "a system file that ends in .toml")
    from pathlib import Path

    return Path(system_file).read_bytes()


def write_certificate(
    name: str, analysis: Analysis, result: AnalysisResult, file: bytes
) -> Certificate:
    """Writes the evidence for what holds of a system that was read from `file`, and returns it."""
    from hyperperiod.analysis.certificate import certificate_text, certify

    with whole_file(name, "--certificate") as path:
        assert path is not None, "a file was named"
        certificate = certify(analysis, result, file)
        path.write_text(certificate_text(certificate), encoding="utf-8")
    if not certificate.domains:
        why = certificate.not_certified[0]
        click.echo(f"{name}: nothing is certified ({why.domain}: {why.why})", err=True)
    return certificate


def require_host_levels(system: System, system_file: str) -> None:
    """InputError for domains inside domains: hosts run two levels, domains and tasks."""
    for index, domain in enumerate(system.domains):
        if domain.domains:
            raise InputError(
                shown_name(system_file),
                None,
                f"domain[{index}].domain",
                f"domains inside {domain.name!r}",
                "two levels on hosts: domains and their tasks (analyze takes any depth)",
            )


@contextlib.contextmanager
def about(system_file: str) -> Iterator[None]:
    """Errors about a system that is no longer a file (analysis, hosts) name the file again."""
    try:
        yield
    except InputError as error:
        problems = [
            problem
            if problem.file or problem.key.startswith("--")
            else problem.replace(file=shown_name(system_file))
            for problem in error.problems
        ]
        raise InputError.of(problems) from None
