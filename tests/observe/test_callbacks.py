# SPDX-License-Identifier: BSD-2-Clause
"""Callbacks of ROS 2 in text of babeltrace2, made from the events and fields of ros2_tracing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hyperperiod.model import InputError, Scheduler, System, TaskKind, load_system
from hyperperiod.observe.observe import Asked, observe
from hyperperiod.observe.result import ObservationResult, ObservedThread
from hyperperiod.observe.system import system_text

MS = 1_000_000
ASKED = Asked(least=5, callbacks=True)


class Printed:
    """Lines of a trace, which are sorted by their times in the end."""

    def __init__(self) -> None:
        self.lines: list[tuple[int, str]] = []

    def event(self, time_ns: int, name: str, pid: int, tid: int, **fields: Any) -> None:
        said = ", ".join(
            f'{key} = "{value}"' if key.endswith(("name", "symbol")) else f"{key} = {value}"
            for key, value in fields.items()
        )
        when = f"[{time_ns // 10**9}.{time_ns % 10**9:09d}] (+0.000001000) robot ros2:{name}:"
        context = f'{{ vpid = {pid}, vtid = {tid}, procname = "p{pid}" }}'
        self.lines.append((time_ns, f"{when} {{ cpu_id = 1 }}, {context}, {{ {said} }}"))

    def timer(self, pid: int, callback: str, node: str, period_ns: int) -> None:
        handle = f"{callback}AA"
        self.event(1, "rcl_node_init", pid, pid, node_handle=f"{callback}F", node_name=node)
        self.event(2, "rcl_timer_init", pid, pid, timer_handle=handle, period=period_ns)
        names = {"timer_handle": handle, "callback": callback}
        self.event(3, "rclcpp_timer_callback_added", pid, pid, **names)
        self.event(4, "rclcpp_callback_register", pid, pid, callback=callback, symbol="f(?)")
        nodes = {"timer_handle": handle, "node_handle": f"{callback}F"}
        self.event(5, "rclcpp_timer_link_node", pid, pid, **nodes)

    def subscription(self, pid: int, callback: str, node: str, topic: str) -> None:
        handle, inside = f"{callback}AB", f"{callback}AC"
        self.event(1, "rcl_node_init", pid, pid, node_handle=f"{callback}F", node_name=node)
        names = {"node_handle": f"{callback}F", "topic_name": topic}
        self.event(2, "rcl_subscription_init", pid, pid, subscription_handle=handle, **names)
        both = {"subscription_handle": handle, "subscription": inside}
        self.event(3, "rclcpp_subscription_init", pid, pid, **both)
        names = {"subscription": inside, "callback": callback}
        self.event(4, "rclcpp_subscription_callback_added", pid, pid, **names)

    def publisher(self, pid: int, callback: str, topic: str) -> None:
        names = {"node_handle": f"{callback}F", "topic_name": topic}
        self.event(5, "rcl_publisher_init", pid, pid, publisher_handle=f"{callback}AD", **names)

    def job(
        self, start_ns: int, ran_ns: int, pid: int, callback: str, tid: int = 0, sends: int = 0
    ) -> int:
        """Writes the job of a callback that publishes so often, and returns when it ends."""
        here = (pid, tid or pid + 1)
        self.event(start_ns, "callback_start", *here, callback=callback, is_intra_process=0)
        for number in range(sends):
            at_ns, handle = start_ns + ran_ns // 2 + number, f"{callback}AD"
            self.event(at_ns, "rcl_publish", *here, publisher_handle=handle, message="0x1")
        self.event(start_ns + ran_ns, "callback_end", *here, callback=callback)
        return start_ns + ran_ns

    def write(self, path: Path) -> str:
        path.write_text("".join(f"{line}\n" for _, line in sorted(self.lines)))
        return str(path)


def robot(*, sends: int = 1) -> Printed:
    """A timer of 20 ms, a filter in its executor, a planner in another, and a map from nowhere."""
    printed = Printed()
    printed.timer(100, "0xD1", "laser", 20 * MS)
    printed.publisher(100, "0xD1", "/scan")
    printed.subscription(100, "0xD2", "filter", "/scan")
    printed.publisher(100, "0xD2", "/points")
    # Handles are those of a process: this one is of another callback than the timer.
    printed.subscription(200, "0xD1", "planner", "/points")
    printed.subscription(200, "0xD3", "planner", "/map")
    for number in range(12):
        end_ns = printed.job((10 + 20 * number) * MS, MS, 100, "0xD1", sends=sends)
        for again in range(sends):
            end_ns = printed.job(end_ns + 10_000, 2 * MS + again, 100, "0xD2", sends=1)
            end_ns = printed.job(end_ns + 50_000, 3 * MS, 200, "0xD1")
        if number % 2:
            printed.job(end_ns + 10_000, 4 * MS + number * 1000, 200, "0xD3")
    return printed


def seen(result: ObservationResult) -> dict[str, ObservedThread]:
    return {one.name: one for one in result.threads}


def written(result: ObservationResult, path: Path) -> System:
    path.write_text(system_text(result))
    return load_system(path)


def test_timers_topics_and_chains(tmp_path: Path) -> None:
    result, _ = observe(robot().write(tmp_path / "robot.txt"), ASKED)
    callbacks = seen(result)
    assert set(callbacks) == {"laser-timer", "filter-scan", "planner-points", "planner-map"}
    timer = callbacks["laser-timer"]
    assert (timer.kind, timer.period_ns, timer.cost_max_ns) == ("timer", 20 * MS, MS)
    assert callbacks["planner-points"].chain == ("laser-timer", "filter-scan", "planner-points")
    assert (result.damaged, result.executors) == (0, True)

    system = written(result, tmp_path / "robot.toml")
    assert {one.name: one.scheduler for one in system.domains} == {
        "p100": Scheduler.EXECUTOR,
        "p200": Scheduler.EXECUTOR,
    }
    (flow,) = system.flows
    assert flow.hops == ("p100.laser-timer", "p100.filter-scan", "p200.planner-points")
    assert (flow.source.period_ns, flow.deadline_ns, flow.queue) == (20 * MS, 60 * MS, 3)
    tasks = {one.name: one for domain in system.domains for one in domain.tasks}
    assert tasks["planner-map"].kind is TaskKind.SPORADIC
    assert tasks["planner-map"].period_ns == 40 * MS
    assert tasks["filter-scan"].wcet_ns == 2_400_000
    text = (tmp_path / "robot.toml").read_text()
    numbers = [line for line in text.splitlines() if line.startswith(("period", "wcet", "source"))]
    assert all("# measured, not proved: " in line for line in numbers)


def test_two_messages_for_each_job_are_no_flow(tmp_path: Path) -> None:
    result, _ = observe(robot(sends=2).write(tmp_path / "robot.txt"), ASKED)
    assert seen(result)["filter-scan"].chain == ("laser-timer", "filter-scan")
    system = written(result, tmp_path / "robot.toml")
    assert [flow.hops[0] for flow in system.flows] != ["p100.laser-timer"]
    tasks = {one.name: one for domain in system.domains for one in domain.tasks}
    assert tasks["laser-timer"].kind is TaskKind.PERIODIC


def test_an_executor_of_several_threads_is_left_out(tmp_path: Path) -> None:
    printed = robot()
    printed.job(400 * MS, MS, 200, "0xD3", tid=999)
    result, _ = observe(printed.write(tmp_path / "robot.txt"), ASKED)
    left_out = {one.name: one.left_out for one in result.threads}
    assert left_out["planner-map"] == left_out["planner-points"]
    assert left_out["planner-map"] == "an executor of several threads"
    assert left_out["filter-scan"] == ""


@pytest.mark.parametrize(
    ("ran_ns", "left_out"),
    [
        (MS, ""),
        (4_500_000, "in bursts, which only flows have: 5.4ms of every 5ms, with the margin"),
    ],
)
def test_a_burst_of_callbacks_is_no_job(ran_ns: int, left_out: str, tmp_path: Path) -> None:
    """An executor runs others between the jobs of a burst."""
    printed = Printed()
    printed.subscription(100, "0xD1", "camera", "/image")
    for number in range(36):
        printed.job((10 + 60 * (number // 3) + 5 * (number % 3)) * MS, ran_ns, 100, "0xD1")
    result, _ = observe(printed.write(tmp_path / "robot.txt"), ASKED)
    (found,) = result.threads
    assert (found.kind, found.period_ns, found.jobs) == ("sporadic", 5 * MS, 36)
    assert (found.cost_max_ns, found.left_out) == (ran_ns, left_out)


@pytest.mark.parametrize("period_ns", [0, -5, 2**62, 2**64])
def test_a_timer_of_an_impossible_period_is_left_out(period_ns: int, tmp_path: Path) -> None:
    printed = robot()
    printed.timer(300, "0xD5", "clock", period_ns)
    for number in range(12):
        printed.job((15 + 20 * number) * MS, MS, 300, "0xD5")
    result, _ = observe(printed.write(tmp_path / "robot.txt"), ASKED)
    left_out = {one.name: one.left_out for one in result.threads if one.left_out}
    assert left_out == {"clock-timer": "a timer of an impossible period"}
    assert len(written(result, tmp_path / "robot.toml").domains) == 2


def test_two_callbacks_at_once_in_a_thread_do_not_count(tmp_path: Path) -> None:
    """Two containers with numbers of their own, in which the same ones are in use."""
    printed = Printed()
    printed.timer(7, "0xD1", "laser", 20 * MS)
    printed.timer(7, "0xE1", "motor", 20 * MS)
    for number in range(12):
        printed.job((10 + 20 * number) * MS, 2 * MS, 7, "0xD1")
        printed.job((11 + 20 * number) * MS, 2 * MS, 7, "0xE1")
    result, _ = observe(printed.write(tmp_path / "robot.txt"), ASKED)
    assert {(one.activations, one.partial) for one in result.threads} == {(0, 12)}
    assert result.damaged == 12
    with pytest.raises(InputError, match="no thread that becomes a task, and damaged lines: 12"):
        system_text(result)


def test_what_was_begun_before_a_loss_does_not_count(tmp_path: Path) -> None:
    printed = robot()
    printed.event(400 * MS, "callback_start", 100, 101, callback="0xD2", is_intra_process=0)
    printed.lines.append((401 * MS, "WARNING: Tracer discarded 7 events between [1] and [2]"))
    printed.event(450 * MS, "callback_end", 100, 101, callback="0xD2")
    printed.event(460 * MS, "callback_start", 100, 101, callback="0xD1", is_intra_process=0)
    result, _ = observe(printed.write(tmp_path / "robot.txt"), ASKED)
    callbacks = seen(result)
    assert (result.lost, callbacks["filter-scan"].cost_max_ns) == (7, 2 * MS)
    assert callbacks["laser-timer"].partial == 1


def test_what_is_damaged_is_counted(tmp_path: Path) -> None:
    printed = robot()
    printed.event(500 * MS, "callback_start", 100, 101, back="0xD2")
    printed.lines.append((501 * MS, "[garbage"))
    result, _ = observe(printed.write(tmp_path / "robot.txt"), ASKED)
    assert result.damaged == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[1.000000000] x ros2:rcl_init: { cpu_id = 1 }, { version = "4" }\n', "no event ros2"),
        ("HPTRACE1", "no text"),
    ],
)
def test_what_has_no_callbacks(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text(text)
    with pytest.raises(InputError, match=message):
        observe(str(tmp_path / "x.txt"), ASKED)
