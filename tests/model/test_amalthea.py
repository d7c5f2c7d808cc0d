# SPDX-License-Identifier: BSD-2-Clause
"""Models of AMALTHEA: what becomes of tasks, runnables, stimuli and cores, and what is refused.

The two files are made for this, in the form of the models that APP4MC brings as examples.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hyperperiod.model import InputError, System, load_system

TESTS = Path(__file__).parents[1]
MODEL = TESTS.parent / "docs" / "examples" / "steering.amxmi"
STEERING = MODEL.read_text()
US = 1_000
DEFAULT = '<default xsi:type="am:DiscreteValueConstant" value="900000"/>\n          '
OWN = '<extended key="'


def test_a_model_becomes_a_system() -> None:
    system = load_system(MODEL)
    on_a, on_b = system.domains
    assert (system.pcpus, on_a.pcpu, on_b.pcpu, on_a.scheduler) == (2, 0, 1, "fp")
    angle, diagnosis = on_a.tasks
    # 60,000, 30,001 and 900 ticks of 12.5 ns, rounded up.
    assert (angle.wcet_ns, angle.period_ns) == (1_136_263, 5000 * US)
    assert (angle.offset_ns, angle.jitter_ns) == (1000 * US, 150 * US)
    assert angle.deadline_ns == 2850 * US, "a limit of 3 ms less the jitter"
    assert (diagnosis.kind, diagnosis.period_ns, diagnosis.wcet_ns) == (
        "sporadic", 100_000 * US, 2500 * US,
    )  # fmt: skip
    assert angle.priority is not None
    assert diagnosis.priority is not None
    assert angle.priority < diagnosis.priority
    (assist,) = on_b.tasks
    assert assist.wcet_ns == 1000 * US, "300,000 ticks of this kind of core, at 300 MHz"


def test_an_older_model_counts_instructions() -> None:
    (domain,) = load_system(TESTS / "data" / "amalthea" / "older.amxmi").domains
    (lamp,) = domain.tasks
    assert (lamp.wcet_ns, lamp.period_ns) == (1500 * US, 20_000 * US), "150,000 at two in 20 ns"


def changed(folder: Path, old: str, new: str) -> System:
    """The system of the model with one thing changed."""
    assert old in STEERING
    path = folder / "changed.amxmi"
    path.write_text(STEERING.replace(old, new))
    return load_system(path)


def test_nothing_is_less_demanding_than_the_model(tmp_path: Path) -> None:
    """The shorter of two limits counts; work is rounded up, periods and limits are rounded down."""
    more = STEERING[STEERING.index("    <requirements") : STEERING.index("  </constraintsModel>")]
    system = changed(tmp_path, more, more + more.replace('value="3"', 'value="5"'))
    assert system.domains[0].tasks[0].deadline_ns == 2850 * US
    old = '<recurrence value="10" unit="ms"/>'
    system = changed(tmp_path, old, '<recurrence value="10000000001" unit="ps"/>')
    assert system.domains[1].tasks[0].period_ns == 10_000 * US


def test_runnables_that_call_one_another_often_are_counted_once(tmp_path: Path) -> None:
    names = [f"R{number}" for number in range(35)]
    calls = "".join(
        f'<runnables name="{name}"><activityGraph>'
        + 2 * f'<items xsi:type="am:RunnableCall" runnable="{called}?type=Runnable"/>'
        + "</activityGraph></runnables>"
        for name, called in zip(names, [*names[1:], "Limit"], strict=True)
    )
    path = tmp_path / "changed.amxmi"
    path.write_text(
        STEERING.replace("    <labels", f"    {calls}<labels").replace(
            'runnable="Limit?type=Runnable"/>\n      </activityGraph>',
            'runnable="R0?type=Runnable"/>\n      </activityGraph>',
        )
    )
    angle, _ = load_system(path).domains[0].tasks
    assert angle.wcet_ns == -(-(90_001 + 900 * 2**35) * 25 // 2)


def test_a_pipe_is_known_by_its_text(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_text(STEERING)
    assert load_system(path).domains == load_system(MODEL).domains


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ('preemption="preemptive"', 'preemption="cooperative"', "preemption cooperative"),
        ('am:PeriodicStimulus" name="Every_5ms', 'am:EventStimulus" name="Every_5ms', "EventStim"),
        ('stimuli="Every_5ms', 'stimuli="Request Every_5ms', "2 stimuli"),
        ('stimuli="Every_5ms', 'stimuli="Nobody', "a stimulus Nobody that is not there"),
        ('lowerBound="100" upperBound="900" ', "", "no upper bound"),
        ('xsi:type="am:LabelAccess"', 'xsi:type="am:SemaphoreAccess"', "SemaphoreAccess"),
        ('runnable="Limit', 'runnable="Filter', "a call of Filter, which calls it"),
        ('runnable="Limit', 'runnable="Gone', "a call of Gone, which is not there"),
        ('value="80.0" unit="MHz"', 'value="0" unit="MHz"', "no frequency"),
        ('value="80.0" unit="MHz"', 'value="80.0" unit="rpm"', "the unit 'rpm'"),
        ('task="Assist?', 'task="Other?', "no allocation"),
        ('responsibility="Core_A?type=ProcessingUnit"', "", "no core"),
        ('responsibility="Core_A?', 'responsibility="Gone?', "cores Gone"),
        (' definition="OSEK?type=SchedulerDefinition"', "", "no algorithm"),
        ('<taskSchedulers name="On_A"', '<taskSchedulers name="Off"', "no scheduler On_A"),
        ('value="60000"', 'value="1e999999999"', "'1e999999999'"),
        ('value="60000"', 'value="1/3"', "'1/3'"),
        ('<lowerBound value="0" unit="us"/>', "", "no lower bound of its jitter"),
        ('definition="OSEK?', 'definition="Lottery?', "the algorithm Lottery"),
        ('<schedulingParameters priority="7"/>', "", "no priority"),
        ('priority="7"', 'priority="high"', "'high'"),
        ('IntegerObject" value="2"', 'IntegerObject" value="10"', "priority: that of another"),
        ('<recurrence value="5" unit="ms"/>', "", "no recurrence"),
        ('<recurrence value="5" unit', '<recurrence value="-5" unit', "'-5'"),
        ('<lowerBound value="0" unit="us"/>', '<lowerBound value="-1" unit="us"/>', "'-1'"),
        (f"{DEFAULT}{OWN}Fast", f"{OWN}Slow", "nothing for cores of Fast"),
        ('<upperBound value="150"', '<upperBound value="3000"', "jitter: 3000000ns"),
        ("</tasks>", "</tasks><isrs/>", "an interrupt"),
        ("<am:Amalthea ", "<!DOCTYPE a><am:Amalthea ", "a document type"),
        ("am:Amalthea", "am:Other", "the element am:Other as the outermost"),
    ],
)
def test_what_has_no_counterpart_is_refused(tmp_path: Path, old: str, new: str, found: str) -> None:
    assert old in STEERING
    path = tmp_path / "wrong.amxmi"
    path.write_text(STEERING.replace(old, new))
    with pytest.raises(InputError) as caught:
        load_system(path)
    (problem,) = caught.value.problems
    assert found in problem.found
    assert problem.line is not None
    assert problem.allowed
