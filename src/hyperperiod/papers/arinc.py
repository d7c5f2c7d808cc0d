# SPDX-License-Identifier: BSD-2-Clause
"""Tables I and II of the CSA paper: its seven ARINC-653 workloads.

Their tasks are in no public document. All that is measured here is measured on harmonic workloads
drawn to have the utilizations that the paper prints (`hyperperiod.model.arinc`), and titles say so.
Budgets have no room for what switches cost, as in the paper, so deadlines are missed only because
switches take time: how long is a free parameter, since the paper does not say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Annotated, Any

from hyperperiod.experiments.confidence import mean_of, mean_share_interval
from hyperperiod.model.arinc import TABLE_1, TABLE_2
from hyperperiod.model.part import Part, key
from hyperperiod.model.values import Time, Whole
from hyperperiod.papers.experiment import Experiment, FigureOptions, Host, Measuring
from hyperperiod.papers.expressions import Scope
from hyperperiod.papers.responses import (
    POLICIES,
    interface_overhead,
    same_as_alone,
    with_switches,
    workload,
)
from hyperperiod.papers.result import ArincRow, DomainMissRow


class ArincInterfaces(Experiment):
    """Table I: what interfaces of the workloads take, and what of it rounding up has added."""

    def _steps(self, host: Host) -> int:  # noqa: ARG002
        return len(TABLE_1) * self.sets

    def measured(self, run: Measuring) -> Iterator[ArincRow]:
        for number, (interfaces, tasks) in TABLE_1.items():
            overheads, asks = [], []
            for seed in run.seeds(self.sets):
                system = workload(number, seed)
                asks.append(float(sum((d.utilization for d in system.domains), Fraction(0))))
                overheads.append(interface_overhead(system))
                run.step()
            taken = [ask + overhead for ask, overhead in zip(asks, overheads, strict=True)]
            yield ArincRow(
                workload=number,
                draws=self.sets,
                **mean_of("interfaces", taken, mean_share_interval),
                paper_interfaces=interfaces / 1000,
                **mean_of("tasks", asks, mean_share_interval),
                paper_tasks=tasks / 1000,
                **mean_of("overhead", overheads, mean_share_interval),
                paper_overhead=(interfaces - tasks) / 1000,
            )


class PaperDomain(Part):
    """The paper's row for a domain of workload 2; its deadline miss ratio in thousandths."""

    domain: Annotated[int, Whole(1, 6)]
    dmr: Annotated[int, Whole(0, 1000)]


class ArincDomains(Experiment):
    """Table II: which of the domains of workload 2 miss deadlines, under each of the servers."""

    switch_ns: Time
    domains: tuple[PaperDomain, ...] = key(name="domain")

    def _steps(self, host: Host) -> int:  # noqa: ARG002
        return self.sets

    def measured(self, run: Measuring) -> Iterator[DomainMissRow]:
        found: dict[str, dict[int, list[float]]] = {
            policy: {domain: [] for domain in TABLE_2} for policy in POLICIES
        }
        for seed in run.seeds(self.sets):
            system = workload(2, seed)
            for policy, missed in found.items():
                costly = with_switches(system, policy, self.switch_ns)
                ran = run.run(costly, self.horizon_ns, seed)
                for number, domain in enumerate(ran.domains, start=1):
                    jobs = sum(task.jobs for task in domain.tasks)
                    missed[number].append(sum(task.misses for task in domain.tasks) / jobs)
            run.step()
        for one in self.domains:
            ptps, wcps, crps = (found[policy][one.domain] for policy in POLICIES)
            yield DomainMissRow(
                domain=one.domain,
                host=run.host,
                draws=self.sets,
                overhead=TABLE_2[one.domain] / 1000,
                **mean_of("dmr", ptps, mean_share_interval),
                paper_dmr=one.dmr / 1000,
                **mean_of("wcps_dmr", wcps, mean_share_interval),
                **mean_of("crps_dmr", crps, mean_share_interval),
            )

    def names(self, rows: Sequence[Any], options: FigureOptions) -> Scope:  # noqa: ARG002
        def same_beside_dom0() -> tuple[int, int]:
            here, system = self.settled(options), workload(2, options.seed)
            ruled = [with_switches(system, policy, here.switch_ns) for policy in POLICIES]
            return same_as_alone(ruled, here.horizon_ns, options.seed)

        return {"same_beside_dom0": same_beside_dom0}
