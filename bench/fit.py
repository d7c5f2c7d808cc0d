# SPDX-License-Identifier: BSD-2-Clause
"""What `fit` finds in ten seconds: generated systems of 10, 30 and 60 domains on four pcpus.

Systems are drawn by the rule of the CSA paper (section IV.B) with tasks of 1.8 pcpus in all, under
fixed priority. Per size and question: how long it took (least bandwidth: until the optimum was
proved), and how far from the proved bound the answer is.
"""

import time
from collections.abc import Iterator
from fractions import Fraction

from bench.environment import SkippedError
from bench.results import Row

from hyperperiod.analysis.fit.answer import Fitted, Options
from hyperperiod.analysis.fit.exact import load_solver
from hyperperiod.analysis.fit.fit import fit
from hyperperiod.analysis.fit.result import result_of
from hyperperiod.analysis.fit.scoring import Least
from hyperperiod.model import PRESETS, MissingError, System
from hyperperiod.model.generate import csa_system

DOMAINS = (10, 30, 60)
PCPUS = 4
SEEDS = (1, 2, 3)
LIMIT_S = 10.0
QUESTIONS = {
    "least bandwidth": Options(limit_s=LIMIT_S),
    "least overhead": Options(least=Least.OVERHEAD, limit_s=LIMIT_S),
    "overhead within 10 %": Options(least=Least.OVERHEAD, within=Fraction(1, 10), limit_s=LIMIT_S),
}


def drawn(domains: int, seed: int) -> System:
    """A system without pins and interfaces."""
    made = csa_system(
        f"fit-{domains}-{seed}",
        PRESETS["ptps"],
        seed=seed,
        utilization=Fraction(18, 10),
        periods_ms=(100, 1100),
        domains=domains,
    )
    open_ones = tuple(one.replace(pcpu=None) for one in made.domains)
    return made.replace(domains=open_ones, pcpus=PCPUS)


def gap(fitted: Fitted) -> float:
    """How far above the bound in what was asked for, in percent; what has no bound has no gap."""
    result = result_of(fitted)
    asked = "bandwidth" if fitted.options.least is Least.BANDWIDTH else "events"
    found = result.bandwidth.gap if asked == "bandwidth" else result.events.gap
    return float("nan") if found is None else 100 * float(found)


def measure() -> Iterator[Row]:
    """Means over the seeds."""
    try:
        load_solver()
    except MissingError as error:
        raise SkippedError(str(error)) from None
    for domains in DOMAINS:
        for question, options in QUESTIONS.items():
            begin = time.perf_counter()
            found = [fit(drawn(domains, seed), options) for seed in SEEDS]
            seconds = (time.perf_counter() - begin) / len(SEEDS)
            name = f"fit of {domains} domains, {question}"
            yield Row(f"{name}, time", seconds, "s")
            yield Row(f"{name}, above the bound", sum(map(gap, found)) / len(SEEDS), "%")
            proved = sum(one.status == "optimal" for one in found)
            yield Row(f"{name}, proved optimal", 100 * proved / len(SEEDS), "%")
