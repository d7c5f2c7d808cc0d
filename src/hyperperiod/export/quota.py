# SPDX-License-Identifier: BSD-2-Clause
"""A system under quotas of Linux: what `cpu.max QUOTA PERIOD` of a cgroup promises, with a proof.

A quota is a limit. The kernel (Documentation/scheduler/sched-bwc.rst) has a pool for each cgroup,
which a timer fills up to the quota at the beginning of each period, and on each cpu an account,
which takes up to a slice of 5 ms from the pool when it is empty. The account pays for what runs,
and for interrupts meanwhile where the kernel does not count them (`CONFIG_IRQ_TIME_ACCOUNTING`). It
is charged at ticks and switches only, so it may be overdrawn by what has run since the last one.
Who has an empty account and an empty pool is throttled: at a period's beginning the pool pays what
is overdrawn, and who is above zero then runs again. What an account has is not lost at the end of a
period (Linux 5.4).

**Claim.** Let a cgroup be on one cpu, alone there, with a quota of Q in periods of P, no burst, and
charged after O of running and interrupts at the latest, for at most I of interrupts in a period,
where B = Q - O - I > 0. Whenever its threads want the cpu, it has had at every instant at least as
much of it as a deferrable server of B in P, alone on that cpu, with the same periods and the same
wants, if both lose the same time to what the kernel does itself. And it is not throttled while that
server has budget.

Proof. When a period begins, the account has at least -O: what is overdrawn has run since the last
charge. So pool and account have B + I at least, and the cgroup is not throttled in that period
before it has had B, and once it is, to the end of the period; the server is never granted more in
it. Let the claim hold when a period begins, and let t be an instant in it. If the cgroup is
throttled at t, it has had B since the period began, and the server no more. If not, let u be
the last instant until t at which it wanted nothing, or the beginning of the period, whichever is
last. Where it wanted nothing it has had all that was wanted, and the server no more; since u it had
the cpu all the time but for what the kernel took, and the server no more. The timer stops after a
period in which nothing was taken out of the pool, which is full then, and goes on in step. While
the server has budget left in a period, it has run there whenever the cgroup has, since it had no
less to do; so the cgroup has had less than B there, and is not throttled. Hence nothing inside,
first by priority or deadline, is done later than it is in the server.

So such a cgroup is judged as that server; O is `OVERDRAWN_NS`, and I what is stolen in a period,
which is more than interrupts. With several cpus the slices that other cpus hold are missing, and
nothing is claimed; nor is it for a cgroup that shares its cpu with others: there the kernel shares
by weight. Then it may get less than its quota though all quotas fit: 15 in 20 beside 25 in 100 on
one cpu get 10 in the first 20, where both have the same weight.

`tests/soundness/test_quota.py` hunts for counterexamples in a small model of that accounting.
"""

from __future__ import annotations

from typing import Final

from hyperperiod.analysis.overheads import longest_pick_ns
from hyperperiod.analysis.stolen import stolen_loads
from hyperperiod.analysis.tasks.request_bound import rbf
from hyperperiod.export.stock import on_own_pcpus, require_servers, without_best_effort
from hyperperiod.hosts.linux.stock import cpu_max
from hyperperiod.model import Domain, System, format_time
from hyperperiod.model.readers.libvirt import OVERDRAWN_NS

NOT_GUARANTEED: Final = f"""\
- A quota is a limit, not a budget. It is {format_time(OVERDRAWN_NS)} more than the server in each
  of its periods, since the kernel charges at its ticks, and what is overdrawn comes out of the next
  quota; and by what is stolen in one as `system.toml` says, since kernels without
  `CONFIG_IRQ_TIME_ACCOUNTING`, as Debian's, have a quota pay for interrupts. One above its period
  limits nothing.
- That the server is there in each period is proved for a thread of the kernel's usual class that is
  alone on its cpu. Quotas that share a cpu promise nothing, though all fit.
- The kernel must have `CONFIG_HZ=250` or more: `grep CONFIG_HZ= /boot/config-$(uname -r)`. The cpus
  may not be `nohz_full`, where it may stop its ticks.
- A period's timer must not be late: on PREEMPT_RT, above all, a thread may come before it. Where
  `dmesg` says "period too short, scaling up", the kernel has made period and quota longer.
- Since Linux 6.18 a thread is throttled where it leaves the kernel: what it does there in one go,
  if longer than a millisecond, is overdrawn beside what is counted.
- No `cpu.max.burst` may be set, nor a quota of a cgroup around these (`<global_quota>`). After a
  change the next quota may come only when the old period ends.
"""
"""Lines of a README's list of what a host does not guarantee: when a quota is less than proved.

Exports with quotas share them, that of libvirt's too."""


def as_quotas(system: System) -> System:
    """The system with a cpu for each vcpu of a domain with a server, and a quota for that server.

    Raises InputError for a domain of which only some vcpus have servers.
    """
    require_servers(system, "this export")
    served = without_best_effort(system, "a quota", "outside")
    return on_own_pcpus(served, "ds")


def quota_us(system: System, domain: Domain, number: int) -> tuple[int, int]:
    """Returns quota and period (us) that promise the domain's vcpu of that number its server.

    `system` is as `as_quotas` makes it. Raises InputError for a period that the kernel refuses.
    """
    keys = domain.each_vcpu[number]
    server, pcpu = keys.interface, keys.pcpu
    assert server is not None, "as_quotas leaves no vcpu without a server"
    assert pcpu is not None, "and none without a pcpu"
    own = f"vcpu[{number}]." if domain.own_vcpus else ""
    thefts = stolen_loads(system, (pcpu,), longest_pick_ns(system, [domain]))
    budget_ns = server.budget_ns + OVERDRAWN_NS + rbf(thefts, server.period_ns)
    return cpu_max(f"domain {domain.name}: {own}", budget_ns, server.period_ns)
