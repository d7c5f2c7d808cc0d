# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod-xen apply` and `save`: a file makes a machine, and a machine makes the file."""

from __future__ import annotations

import errno
import random
import re
import socket
from pathlib import Path

import pytest
from tests.support.control_machines import (
    BEST_EFFORT,
    CREDIT2,
    GLOBAL_EDF,
    OURS,
    PTPS,
    Machine,
    guest_lines,
)

FILE = """\
version = 1

# Two pools.
[pool rt]
policy = crps
scope = partitioned
cpus = 1

[pool wide]
policy = ertds
cpus = 2-3
spare = 500us in 10ms

[domain control]
pool = rt
vcpu 0 = 2ms in 10ms, priority 0

[domain video]
pool = wide
vcpu 0 = 7500us in 20ms, priority 1, extra time
vcpu 1 = best effort, weight 3
others = 1ms in 100ms
"""


def with_guests(folder: Path) -> Machine:
    machine = Machine(folder)
    machine.guest(3, "control")
    machine.guest(4, "video", vcpus=2)
    return machine


def saved(machine: Machine) -> str:
    return machine.does("save", "-")


def test_a_file_makes_a_machine(tmp_path: Path) -> None:
    """Pools are made with their policies, domains moved while held, servers set."""
    machine = with_guests(tmp_path)
    said = machine.does("apply", machine.file(FILE))
    assert said.splitlines() == [
        "pool rt: made, crps",
        "pool wide: made, ertds",
        "pool wide: spare set",
        "domain control: moved to pool rt",
        "domain control: vcpu 0: 2ms in 10ms, priority 0",
        "domain video: moved to pool wide",
        "domain video: others: 1ms in 100ms, priority 100000",
        "domain video: vcpu 0: 7500us in 20ms, priority 1, extra time",
        "domain video: vcpu 1: best effort, weight 3",
    ]
    assert machine.calls == [
        "create 72 0", "policy 1 0", "remove 0 1", "add 1 1",
        "create 72 0", "policy 2 0", "remove 0 2", "add 2 2", "remove 0 3", "add 2 3",
        "spare 2 0",
        "hold 3 0", "move 3 1", "set 3 0", "release 3 0",
        "hold 4 0", "move 4 2", "set 4 all", "set 4 0", "set 4 1", "release 4 0",
    ]  # fmt: skip
    assert "vcpu 1    best effort, weight 3" in machine.does("get", "video")
    assert '"policy": "ertds", "scope": "global", "pcpus": [2, 3]' in machine.does(
        "pool-info", "wide", "--json"
    )


def test_dom0_has_its_server_in_the_pool_where_it_stays(tmp_path: Path) -> None:
    """A saved file says it, and brings it back after a reboot; Pool-0 keeps what is left."""
    machine = with_dom0_under_us(tmp_path)
    for words in ("set 0 --period 1ms --budget 200us", "policy Pool-0 wcps"):
        machine.does(*words.split())
    file = machine.file(saved(machine))
    assert "[domain Domain-0]\npool = Pool-0\nvcpu 0 = 200us in 1ms" in file.read_text()
    assert machine.does("apply", file) == "nothing to change\n"

    rebooted = with_dom0_under_us(tmp_path)
    rebooted.forget()
    rebooted.does("apply", rebooted.file(file.read_text().replace("cpus = 0-3", "cpus = 0")))
    assert rebooted.calls == ["policy 0 0", "set 0 all"]
    assert "200us in 1ms" in rebooted.does("get", "0")
    rebooted.add("store /local/domain/0/name boss")
    elsewhere = FILE.replace("[domain control]", "[domain boss]").split("[domain video]")[0]
    said = rebooted.refuses(2, "apply", rebooted.file(elsewhere))
    assert "'boss': found dom0; allowed: any other" in said


def with_dom0_under_us(folder: Path) -> Machine:
    """A machine that was booted with sched=hyperperiod."""
    machine = Machine(folder)
    text = machine.path.read_text().replace(f"pool 0 {CREDIT2} 0 0 0 0", f"pool 0 {OURS} {PTPS}")
    text = text.replace("domain 0 0 1 0 0 0 0", f"domain 0 0 1 0 0 0 {BEST_EFFORT}")
    machine.path.write_text(text.replace("vcpu 0 0 0 0 0 0", f"vcpu 0 0 0 0 0 {BEST_EFFORT}"))
    return machine


def test_applying_again_changes_nothing(tmp_path: Path) -> None:
    machine = with_guests(tmp_path)
    file = machine.file(FILE)
    machine.does("apply", file)
    machine.forget()
    assert machine.does("apply", file) == "nothing to change\n"
    assert machine.calls == []


def test_what_is_saved_is_the_file(tmp_path: Path) -> None:
    """Sections by name, each vcpu on its line: the one form of what is in force."""
    machine = with_guests(tmp_path)
    machine.does("apply", machine.file(FILE))
    assert (
        saved(machine)
        == """\
# Pools and servers; `hyperperiod-xen apply FILE` brings them back.
version = 1

[pool rt]
policy = crps
scope = partitioned
cpus = 1

[pool wide]
policy = ertds
scope = global
cpus = 2-3
spare = 500us in 10ms

[domain control]
pool = rt
vcpu 0 = 2ms in 10ms, priority 0
others = best effort

[domain video]
pool = wide
vcpu 0 = 7500us in 20ms, priority 1, extra time
vcpu 1 = best effort, weight 3
others = 1ms in 100ms, priority 100000
"""
    )
    file = tmp_path / "saved"
    machine.does("save", file)
    assert file.read_text() == saved(machine)
    assert file.stat().st_mode & 0o777 == 0o644
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("saved")] == ["saved"]


SERVERS = (
    "{b}us in {p}us, priority {n}", "{b}us in {p}us, priority {n}, extra time",
    "{b}us in {p}us, ordinary", "best effort", "best effort, weight {w}", "{b}us in {p}us",
)  # fmt: skip
POLICIES = (
    ("ptps", "partitioned"), ("sedf", "partitioned"), ("rtds", "global"), ("rtds", "partitioned"),
    ("deferrable+edf+none", "global"), ("psedf", "partitioned"),
)  # fmt: skip


def any_server(draw: random.Random) -> str:
    period = draw.randrange(2000, 10**6)
    return draw.choice(SERVERS).format(
        p=period, b=draw.randrange(5, period // 10), n=draw.randrange(2**24), w=draw.randrange(1, 9)
    )


def any_file(draw: random.Random, guests: dict[str, int]) -> str:
    """A file for these guests, their vcpus by name; few servers, so that nothing is overbooked."""
    lines = ["version = 1"]
    pools = draw.sample(["one", "two", "three"], draw.randrange(1, 4))
    for number, pool in enumerate(pools):
        policy, scope = draw.choice(POLICIES)
        lines += [f"[pool {pool}]", f"policy = {policy}", f"scope = {scope}"]
        lines.append(f"cpus = {2 * number + 1},{2 * number + 2}")
        if draw.random() < 0.3:
            lines.append(f"spare = {draw.randrange(1, 10)}ms in {draw.randrange(10, 20)}ms")
    for name, vcpus in guests.items():
        if draw.random() < 0.8:
            lines += [f"[domain {name}]", f"pool = {draw.choice(pools)}"]
            lines += [
                f"vcpu {vcpu} = {any_server(draw)}" for vcpu in range(vcpus) if draw.random() < 0.7
            ]
            if draw.random() < 0.5:
                lines.append(f"others = {any_server(draw)}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("seed", range(12))
def test_a_machine_that_is_saved_comes_back(tmp_path: Path, seed: int) -> None:
    """For any machine: its file applied to it changes nothing; after a reboot it is brought back.

    After the reboot domains have other numbers in another order. A file that is brought back and
    saved is the same to the byte.
    """
    draw = random.Random(seed)
    guests = {name: draw.randrange(1, 4) for name in ("a", "b", "with blanks]", "ü")}
    machines = []
    for boot in range(2):
        folder = tmp_path / str(boot)
        folder.mkdir()
        machine = Machine(folder, pcpus=8)
        names = list(guests)
        draw.shuffle(names)
        for number, name in enumerate(names):
            machine.guest(10 * boot + number + 1, name, vcpus=guests[name])
        machines.append(machine)
    first, second = machines
    first.does("apply", first.file(any_file(draw, guests)))
    text = saved(first)
    first.forget()
    assert first.does("apply", first.file(text, "again")) == "nothing to change\n"
    assert first.calls == []
    second.does("apply", second.file(text))
    assert saved(second) == text


def test_a_running_machine_is_changed_where_it_differs(tmp_path: Path) -> None:
    """Policy, pcpus, spare, pool of a domain, one server: each by one call, and nothing else."""
    machine = with_guests(tmp_path)
    machine.does("apply", machine.file(FILE))
    machine.forget()
    changed = (
        FILE.replace("policy = crps", "policy = ptps")
        .replace("cpus = 2-3", "cpus = 3")
        .replace("500us in 10ms", "400us in 10ms")
        .replace("2ms in 10ms, priority 0", "3ms in 10ms, priority 0")
    )
    said = machine.does("apply", machine.file(changed))
    assert machine.calls == [
        "policy 1 0", "remove 2 2", "add 0 2", "spare 2 0", "set 3 0",
    ]  # fmt: skip
    assert said.splitlines() == [
        "pool rt: policy ptps", "pool wide: pcpu 2 left", "pool wide: spare set",
        "domain control: vcpu 0: 3ms in 10ms, priority 0",
    ]  # fmt: skip
    moved = changed.replace("[domain control]\npool = rt", "[domain control]\npool = wide")
    machine.forget()
    machine.does("apply", machine.file(moved))
    assert machine.calls == ["hold 3 0", "move 3 2", "set 3 0", "release 3 0"]


def test_a_pool_without_pcpus(tmp_path: Path) -> None:
    """It is saved and comes back; one that has none may get another scope."""
    machine = Machine(tmp_path, lines=[f"pool 2 {OURS} {PTPS} 0 0 0", "store /local/pool/2/name p"])
    text = saved(machine)
    assert "cpus = none" in text
    assert machine.does("apply", machine.file(text)) == "nothing to change\n"
    machine.does("apply", machine.file("version = 1\n[pool p]\npolicy = rtds\ncpus = 1-2\n"))
    assert "scope = global\ncpus = 1-2" in saved(machine)


# --- what is refused -------------------------------------------------------------------------

HEAD = "version = 1\n[pool p]\npolicy = ptps\ncpus = 1\n"
GUEST = "[domain control]\npool = p\n"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", 0, "found no version; allowed: 'version = 1' before the first section"),
        ("[pool p]\n", 1, "found no version"),
        ("version = 2\n", 1, "version: found 2; allowed: 1"),
        ("version = 1\nversion = 1\n", 2, "version: found it twice"),
        ("version\n", 1, r"found 'version'; allowed: \[SECTION\], KEY = VALUE"),
        ("version =\n", 1, "version: found no value"),
        ("policy = ptps\n", 1, "found 'policy' before any section; allowed: version"),
        ("version = 1\n[pools p]\n", 2, r"found '\[pools p\]'; allowed: \[pool NAME\]"),
        ("version = 1\n[pool p\n", 2, r"found '\[pool p'; allowed: \[pool NAME\]"),
        ("version = 1\n[pool ]\n", 2, "found a section without a name"),
        (HEAD + "[pool p]\n", 5, r"\[pool p\]: found it twice, first in line 2"),
        (HEAD + GUEST + GUEST, 7, r"\[domain control\]: found it twice, first in line 5"),
        ("version = 1\n[pool p]\ncpus = 1\n", 2, "pool 'p': found no 'policy'"),
        ("version = 1\n[pool p]\npolicy = ptps\n", 2, "pool 'p': found no 'cpus'"),
        (HEAD + "cpus = 1\n", 5, "cpus: found it twice"),
        (HEAD + "cpu = 1\n", 5, "found 'cpu'; allowed in a pool: policy, scope, cpus, spare"),
        (HEAD + "spare = 1ms\n", 5, "spare: found '1ms'; allowed: BUDGET in PERIOD"),
        (HEAD + "spare = 2ms in 1ms\n", 5, "spare: found more than the period"),
        (HEAD + "scope = both\n", 5, "scope: found 'both'; allowed: partitioned or global"),
        (HEAD.replace("ptps", "pt"), 3, "policy: found 'pt'; allowed: ptps, wcps"),
        (HEAD.replace("= 1\n[", "= 1\n[").replace("cpus = 1", "cpus = 1-"), 4, "cpus: found '1-'"),
        (HEAD.replace("ptps", "crps") + "scope = global\n", 2, "is not defined for all pcpus"),
        (
            HEAD.replace("ptps", "cbs+edf+none+partitioned") + "scope = global\n", 2,
            "scope: found 'global'; the policy says otherwise",
        ),
        (HEAD + "[pool q]\npolicy = ptps\ncpus = 0-1\n", 5, "cpus: found pcpu 1 in pool 'p' and"),
        (HEAD + "[domain x]\nvcpu 0 = best effort\n", 5, "domain 'x': found no 'pool'"),
        (HEAD + "[domain x]\npool = q\n", 5, "domain 'x': pool: found 'q'; allowed: one with a"),
        (HEAD + "[domain Domain-0]\npool = p\n", 5, "found 'p'; allowed: Pool-0, dom0 stays"),
        (HEAD + GUEST + "vcpus = 2\n", 7, "found 'vcpus'; allowed in a domain: pool, vcpu N"),
        (HEAD + GUEST + "vcpu x = best effort\n", 7, "vcpu: found 'x'; allowed: a number from 0"),
        (HEAD + GUEST + "vcpu 0 = best\n", 7, "vcpu 0: found 'best'; allowed: BUDGET in PERIOD"),
        (
            HEAD + GUEST + "vcpu 0 = best effort, extra time\n", 7,
            "vcpu 0: found 'best effort, extra time'",
        ),
        (HEAD + GUEST + "vcpu 0 = best effort, weight 0\n", 7, "vcpu 0: found 0; allowed: 1 to"),
        (HEAD + GUEST + "vcpu 0 = 2ms in 1ms\n", 7, "vcpu 0: found 2ms; allowed: at most the"),
        (HEAD + GUEST + "vcpu 0 = 1500ns in 1ms\n", 7, "vcpu 0: found '1500ns'; allowed: whole"),
        (HEAD + GUEST + "others = 1us in 1ms\n", 7, "others: found 1us; allowed: at least 5us"),
        (HEAD + GUEST + "others = 1ms in 9ms, priority\n", 7, "found '1ms in 9ms, priority'"),
        (HEAD + GUEST + "others = 1ms in 9ms, priority 1, ordinary\n", 7, "others: found '1ms in"),
        (HEAD + GUEST + "others = 1ms in 9ms,\n", 7, "others: found '1ms in 9ms,'"),
        (HEAD + GUEST + "others = 1ms in 9ms, priority 16777216\n", 7, "from 0 to 16777215"),
        (HEAD + GUEST + "others = " + "1" * 200 + "\n", 7, "others: found '111"),
        (HEAD + GUEST + "vcpu 1 = best effort\nvcpu 1 = best effort\n", 8, "vcpu 1: found it twi"),
        (HEAD + GUEST + "vcpu 1 = best effort\n", 7, "domain 'control': found vcpu 1; allowed: 0"),
        (HEAD + "[domain none]\npool = p\n", 5, "found no domain 'none'; allowed: a name that"),
        (HEAD.replace("cpus = 1", "cpus = 9"), 2, "cpus: pcpu 9 is in another pool, or there is"),
        (HEAD.replace("cpus = 1", "cpus = 0-3"), 2, "cpus: Pool-0 needs one pcpu"),
        (HEAD.replace("[pool p]", "[pool Pool-0]"), 2, "pool 'Pool-0': found one with scheduler 6"),
        (
            HEAD + GUEST + "vcpu 0 = 6ms in 10ms\n[domain video]\npool = p\nvcpu 0 = 1ms in 2ms\n",
            2, "pool 'p': budgets: found 110.0 % of pcpu 1 promised; allowed: at most all of it",
        ),
        (
            HEAD + "[domain video]\npool = p\nothers = 6ms in 10ms\n", 2,
            "pool 'p': budgets: found 120.0 % of pcpu 1 promised",
        ),
        ("version = 1\0\n", 1, "found a byte of value 0"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused(tmp_path: Path, text: str, line: int, said: str) -> None:
    """Each mistake: exit code 2, file and line, what was found and allowed; nothing changed."""
    machine = with_guests(tmp_path)
    file = machine.file(text)
    message = machine.refuses(2, "apply", file)
    assert message.startswith(f"error: {file}:{line}: "), message
    assert re.search(said, message), message
    assert machine.calls == []


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    assert "nowhere: cannot be read: No such file" in machine.refuses(2, "apply", "nowhere")
    assert "cannot be read: Is a directory" in machine.refuses(2, "apply", tmp_path)


def test_a_scope_stays_while_there_are_pcpus(tmp_path: Path) -> None:
    machine = with_guests(tmp_path)
    machine.does("apply", machine.file(FILE))
    other = machine.file(FILE.replace("policy = crps\nscope = partitioned", "policy = rtds"))
    assert "pool 'rt': scope: found global; the pool" in machine.refuses(2, "apply", other)


def test_checking_needs_no_machine(tmp_path: Path) -> None:
    """--check looks at the file alone: its form, and what it promises."""
    machine = Machine(tmp_path)
    file = machine.file(FILE)
    machine.path.unlink()
    assert machine.does("apply", "--check", file) == ""
    too_much = machine.file(FILE.replace("2ms in 10ms", "11ms in 10ms"))
    assert machine.run("apply", "--check", too_much).returncode == 2


def test_force_takes_what_is_overbooked(tmp_path: Path) -> None:
    machine = with_guests(tmp_path)
    text = FILE.replace("[pool wide]\npolicy = ertds\ncpus = 2-3\nspare = 500us in 10ms\n", "")
    text = text.replace("pool = wide", "pool = rt").replace("2ms in 10ms", "9ms in 10ms")
    text = text.replace("crps", "rtds")
    file = machine.file(text)
    assert "127.5 % of pcpu 1" in machine.refuses(2, "apply", file)
    machine.does("apply", "--force", file)
    assert "127.5 % of pcpu 1, overbooked" in machine.does("pool-info", "rt")


def test_vcpus_of_a_partitioned_pool_that_do_not_fit_together(tmp_path: Path) -> None:
    """Two pcpus have room for all, but where the vcpus are put is seen only then."""
    machine = Machine(tmp_path)
    machine.guest(3, "x", vcpus=3)
    text = "version = 1\n[pool p]\npolicy = ptps\ncpus = 1-2\n[domain x]\npool = p\n"
    done = machine.run("apply", machine.file(text + "others = 6ms in 10ms\n"))
    assert done.returncode == 1
    assert "domain 'x' gets no servers: pool 'p': budgets: found 120.0 % of pcpu 1" in done.stderr
    assert machine.calls[-2:] == ["move 3 1", "release 3 0"]
    assert machine.does("get", "x").count("best effort") == 3


@pytest.mark.parametrize(
    ("refusal", "said", "released"),
    [
        (f"refuse move {errno.ENOSPC}", "domain 'control' stays where it was: no place", True),
        (f"refuse set {errno.ERANGE}", "domain 'control': deciding for all servers", True),
        (f"refuse hold {errno.ESRCH}", "stays where it was: there is no such thing", False),
        (f"refuse create {errno.ENOMEM}", "pool 'rt' was not made: no place is left", False),
        (f"refuse spare {errno.EINVAL}", "pool 'wide': the spare stays as it was", True),
        (f"refuse remove {errno.EBUSY}", "pool 'rt' was not made: it is in use", False),
    ],
)
def test_what_xen_refuses_is_said_and_the_rest_done(
    tmp_path: Path, refusal: str, said: str, released: bool
) -> None:
    """Exit code 1; no domain stays held, and no half of a pool stays behind."""
    machine = with_guests(tmp_path)
    machine.add(refusal)
    done = machine.run("apply", machine.file(FILE))
    assert done.returncode == 1
    assert said in done.stderr
    assert ("release 3 0" in machine.calls) is released
    lines = machine.path.read_text().splitlines()
    assert {line.split()[4] for line in lines if line.startswith("domain ")} == {"0"}


def test_no_scheduler_and_no_names(tmp_path: Path) -> None:
    """What the machine lacks: exit code 3."""
    machine = with_guests(tmp_path)
    done = machine.run("apply", machine.file(FILE), store=False)
    assert (done.returncode, "no xenstore" in done.stderr) == (3, True)
    machine.add(f"refuse create {errno.EINVAL}")
    done = machine.run("apply", machine.file(FILE))
    assert (done.returncode, "has no hyperperiod scheduler" in done.stderr) == (3, True)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([f"pool 1 {OURS} {PTPS} 0 0 0"], "pool 1 has no name that a file can have; `xl cpupool-"),
        (
            [f"pool {one} {OURS} {PTPS} 0 0 0" for one in (1, 2)]
            + [f"store /local/pool/{one}/name same" for one in (1, 2)],
            "two pools are named 'same'",
        ),
        (
            [f"pool 1 {OURS} {GLOBAL_EDF} 0 0 0", "store /local/pool/1/name p", "pcpu 1 1",
             *guest_lines(7, "x", pool=1)[:-1]],
            "domain 7 has no name that a file can have; `xl rename 7 NAME`",
        ),
    ],
)  # fmt: skip
def test_what_a_file_cannot_name_is_not_saved(tmp_path: Path, lines: list[str], said: str) -> None:
    machine = Machine(tmp_path, lines=lines)
    assert said in machine.refuses(1, "save", tmp_path / "file")
    assert not (tmp_path / "file").exists()


def test_a_place_that_cannot_be_written_to(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    assert "cannot write to" in machine.refuses(2, "save", tmp_path / "none" / "file")
    (tmp_path / "folder").mkdir()
    assert "Is a directory" in machine.refuses(1, "save", tmp_path / "folder")
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith("folder.")] == []


# --- domains that come later -----------------------------------------------------------------


def watched(machine: Machine, events: list[list[str]], text: str = FILE, socket: str = "") -> str:
    """What `apply --watch` says until xenstore is gone; each event is a list of lines."""
    lines = "".join("".join(f"{line}\n" for line in event) + "\n" for event in events)
    done = machine.run(
        "apply", "--watch", machine.file(text), events=lines, environment={"NOTIFY_SOCKET": socket}
    )
    assert done.returncode == 1
    assert "xenstore does not say any more" in done.stderr
    return done.stdout + done.stderr


def test_domains_that_come_later(tmp_path: Path) -> None:
    """Pools are there from the start; each domain gets what is its when it comes."""
    machine = Machine(tmp_path)
    said = watched(machine, [guest_lines(3, "control"), guest_lines(4, "video", 2)])
    assert "domain control: not there yet\ndomain video: not there yet\n" in said
    assert "domain control: vcpu 0: 2ms in 10ms" in said
    assert machine.calls[-6:] == [
        "hold 4 0", "move 4 2", "set 4 all", "set 4 0", "set 4 1", "release 4 0",
    ]  # fmt: skip


def test_a_reboot_is_a_new_domain(tmp_path: Path) -> None:
    """Gone and come in one event, with another number: its servers are set again."""
    machine = with_guests(tmp_path)
    watched(machine, [["gone 3", *guest_lines(9, "control")]])
    assert machine.calls[-4:] == ["hold 9 0", "move 9 1", "set 9 0", "release 9 0"]
    assert "2ms in 10ms, priority 0" in machine.does("get", "control")


def test_what_is_set_by_hand_stays(tmp_path: Path) -> None:
    """Another domain comes: what was changed meanwhile of one that is there is not touched."""
    machine = Machine(tmp_path)
    by_hand = "vcpu 3 0 1 50000 100 7"
    watched(machine, [guest_lines(3, "control"), [by_hand, *guest_lines(4, "video", 2)]])
    assert "100us in 50ms, priority 7" in machine.does("get", "control")


def test_a_domain_that_is_being_made_is_waited_for(tmp_path: Path) -> None:
    """One that has no vcpus yet is left alone until it has."""
    machine = Machine(tmp_path)
    begun = ["domain 3 0 0 0 0 0 0", "store /local/domain/3/name control"]
    watched(machine, [begun, ["gone 3", *guest_lines(3, "control")]])
    assert [call for call in machine.calls if call.startswith("move")] == ["move 3 1"]


def test_a_domain_counts_when_it_is_announced(tmp_path: Path) -> None:
    """Looked at while the toolstack still makes it, with one of its vcpus: it gets its servers."""
    machine = Machine(tmp_path)
    begun = [*guest_lines(4, "video"), "building 4"]
    grown = ["gone 4", *guest_lines(4, "video", 2), "building 4", *guest_lines(3, "control")]
    said = watched(machine, [begun, grown, ["announced 4"]])
    assert "error: " not in said.replace("error: xenstore", "")
    assert [call for call in machine.calls if call.startswith("move")] == ["move 3 1", "move 4 2"]


def test_a_domain_that_does_not_fit_is_said_once(tmp_path: Path) -> None:
    """Overbooked, or with fewer vcpus than the file says: it stays, and the others get theirs."""
    machine = Machine(tmp_path)
    machine.guest(8, "other", pool=0)
    text = FILE + "[domain other]\npool = rt\nvcpu 0 = 9ms in 10ms\n"
    assert "110.0 % of pcpu 1" in machine.refuses(2, "apply", "--watch", machine.file(text))
    text = text.replace("9ms in 10ms", "8ms in 10ms")
    more = ["vcpu 8 0 1 10000 9000 1"]
    said = watched(machine, [[*more, *guest_lines(3, "control")], guest_lines(4, "video")], text)
    assert said.count("domain 'control' stays where it is: pool 'rt': budgets: found 110.0 %") == 1
    assert said.count("domain 'video': found vcpu 1; allowed: 0 to 0") == 1
    assert not [call for call in machine.calls if call.startswith(("move 3", "move 4"))]


def test_systemd_is_told_when_pools_are_there(tmp_path: Path) -> None:
    """READY=1 goes to the socket that systemd names, once what can be done is done."""
    machine = Machine(tmp_path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.bind(str(tmp_path / "notify"))
        ear.settimeout(10)
        watched(machine, [], socket=str(tmp_path / "notify"))
        assert ear.recv(100) == b"READY=1"
    name = f"@hyperperiod-{tmp_path.name}-{id(machine)}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.bind("\0" + name[1:])
        ear.settimeout(10)
        watched(machine, [], socket=name)
        assert ear.recv(100) == b"READY=1"
