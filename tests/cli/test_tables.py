# SPDX-License-Identifier: BSD-2-Clause
"""What a terminal shows: everything fits, nothing is cut without a mark, and what is left out is
said. The commands run with a pseudo terminal as their standard output.
"""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from hyperperiod.cli import main
from hyperperiod.cli.screen import Screen
from hyperperiod.cli.styled import GOOD, Styled, visible, wrapped
from hyperperiod.cli.table import Column, Table, numbers, shortened, words
from hyperperiod.model import parse_time

SYSTEMS = Path(__file__).parents[2] / "systems"
NOTE = "for lack of width"


def system(name: str) -> str:
    return str(SYSTEMS / f"{name}.toml")


def sweep_file(name: str) -> str:
    return str(SYSTEMS.parent / "experiments" / "sweeps" / f"{name}.toml")


COMMANDS = {
    "analyze": ("analyze", system("flight-control"), "--tests", "--sensitivity", "--isolation"),
    "analyze flows": ("analyze", system("stability-control")),
    "analyze closed flows": ("analyze", system("request-response")),
    "analyze paper": ("analyze", system("ertds-experiment-c"), "--tests"),
    "simulate": ("simulate", system("flight-control"), "--horizon", "1s"),
    "simulate flows": ("simulate", system("packet-path"), "--horizon", "1s"),
    "run": ("run", system("overload"), "--on", "sim", "--horizon", "1s"),
    "compare": ("compare", system("flight-control"), "--horizon", "200ms"),
    "fit": ("fit", system("avionics-unfitted"), "--within", "10%", "--pcpus", "2", "--heuristics"),
    "fit loop": ("fit", system("stability-control-unfitted"), "--rule", "paper"),
    "latency": ("latency", "--scenario", "contention-1", "--policies", "ptps,ds", "--runs", "1"),
    "latency interrupts": ("latency", "--scenario", "interrupt", "--policies", "ptps"),
    "observe": ("observe", str(SYSTEMS.parent / "docs" / "examples" / "plant.txt.gz")),
    "reproduce": ("reproduce", "psedf-fig6", "--packets", "20"),
    "reproduce sets": ("reproduce", "ertds-fig6", "--sets", "1", "--horizon", "200ms"),
    "sweep": ("sweep", sweep_file("global-edf-tests"), "--systems", "5", "--out", "FOLDER"),
    "trace check": ("trace", "check", "TRACE"),
    "trace intervals": ("trace", "intervals", "TRACE"),
    "trace jobs": ("trace", "jobs", "TRACE"),
    "trace items": ("trace", "items", "TRACE"),
    "trace diff": ("trace", "diff", "TRACE", "TRACE"),
}
EVERY_COMMAND = pytest.mark.parametrize("name", COMMANDS)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A trace with flows."""
    path = tmp_path_factory.mktemp("trace") / "run.hpt"
    done = piped("simulate", system("packet-path"), "--horizon", "100ms", "--trace", str(path))
    assert "no deadline missed" in done
    return str(path)


def command(name: str, trace: str) -> list[str]:
    places = {"TRACE": trace, "FOLDER": str(Path(trace).with_name("sweep"))}
    return [places.get(part, part) for part in COMMANDS[name]]


def piped(*arguments: str) -> str:
    """What a command prints when nobody looks."""
    result = CliRunner().invoke(main, list(arguments), catch_exceptions=False)
    assert result.exit_code in (0, 1), result.stderr
    return result.stdout


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """What a command prints on a terminal of some width, with its codes for colours."""
    for name in ("COLUMNS", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")

    def show(width: int, *arguments: str) -> str:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        found: list[bytes] = []
        reader = threading.Thread(target=lambda: found.extend(iter(lambda: _read(ours), b"")))
        reader.start()
        terminal = os.fdopen(theirs, "w", encoding="utf-8")
        with terminal, monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", terminal)
            main(list(arguments), standalone_mode=False)
        reader.join()
        os.close(ours)
        return b"".join(found).decode().replace("\r\n", "\n")

    return show


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def told(text: str) -> set[str]:
    """The words of an output; rules, notes and headings over several lines do not count."""
    lines = [line for line in text.split("\n") if "──" not in line]
    return set(" ".join(lines).split())


def notes(text: str) -> list[str]:
    """What the lines below tables say, each as one line."""
    found = re.findall(rf"{NOTE} .*?\(--wide shows all\)", " ".join(text.split()))
    return [str(note) for note in found]


@EVERY_COMMAND
def test_a_terminal_of_80_columns(name: str, trace: str, shown: Callable[..., str]) -> None:
    arguments = command(name, trace)
    coloured, plain = shown(80, *arguments), piped(*arguments)
    text = click.unstyle(coloured)
    lines = text.split("\n")
    assert all(len(line) <= 80 for line in lines), [line for line in lines if len(line) > 80]
    assert all(line == line.rstrip() for line in lines)
    # Nothing is cut: whatever stands there stands in the pipe too, or has the mark.
    said = notes(text)
    odd = told(text) - told(plain) - told(" ".join(said))
    assert all("…" in word for word in odd), odd
    # What stands in the pipe only belongs to columns that are named below the table.
    assert told(plain) <= told(text) or any("left out: " in note for note in said)


@EVERY_COMMAND
def test_wide_shows_what_a_pipe_gets(name: str, trace: str, shown: Callable[..., str]) -> None:
    arguments = command(name, trace)
    if name != "trace diff":
        arguments.append("--wide")
    text = shown(40 if name != "trace diff" else 400, *arguments)
    assert click.unstyle(text) == piped(*command(name, trace))


@EVERY_COMMAND
def test_a_pipe_does_not_look_at_the_terminal(
    name: str, trace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = command(name, trace)
    monkeypatch.delenv("COLUMNS", raising=False)
    text = piped(*arguments)
    assert "\x1b" not in text
    assert NOTE not in text
    assert all(line == line.rstrip() for line in text.split("\n"))
    for width in ("20", "500"):
        monkeypatch.setenv("COLUMNS", width)
        assert piped(*arguments) == text


def test_names_stay_and_less_important_columns_go(shown: Callable[..., str]) -> None:
    text = click.unstyle(shown(80, *COMMANDS["simulate"]))
    heading = next(line for line in text.split("\n") if " task " in line)
    assert heading.split() == ["domain", "task", "jobs", "misses", "dmr", "mean", "max"]
    assert f"{NOTE} left out: min, p50, p99 (--wide shows all)" in notes(text)
    assert " flight-laws  actuator-check " in text
    narrow = click.unstyle(shown(50, *COMMANDS["simulate"]))
    assert " flight-laws  actuator-check " in narrow


def test_policies_of_compare_stand_below_each_other(shown: Callable[..., str]) -> None:
    text = click.unstyle(shown(80, *COMMANDS["compare"]))
    headings = [line.split() for line in text.split("\n") if line.startswith(" domain ")]
    table = piped(*COMMANDS["compare"])
    whole = next(line.split() for line in table.split("\n") if line.startswith(" domain "))
    assert len(whole) == 14
    assert all(heading[:2] == ["domain", "task"] for heading in headings)
    assert [name for heading in headings for name in heading[2:]] == 3 * whole[2:]
    assert not notes(text)


def test_the_path_of_a_flow_keeps_its_hops_whole(shown: Callable[..., str]) -> None:
    text = click.unstyle(shown(80, *COMMANDS["analyze flows"]))
    assert " sensor-1  network.packet > wheel-1.control " in text
    assert "\n           > network.packet\n" in text


def test_doctor_keeps_what_is_found_beside_its_name(shown: Callable[..., str]) -> None:
    text = click.unstyle(shown(60, "doctor"))
    assert text.split() == piped("doctor").split()
    own = re.compile(r"(works  |missing)  \S")
    below = [line for line in text.split("\n")[:-1] if not own.match(line)]
    indent = text.index(" 3.") + 1
    assert below
    assert all(len(line) - len(line.lstrip()) == indent for line in below)


def test_colours_can_be_turned_off(
    shown: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "\x1b[32myes\x1b[0m" in shown(80, "analyze", system("flight-control"))
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in shown(80, "analyze", system("flight-control"))
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b" not in shown(80, "analyze", system("flight-control"))


def test_columns_overrules_the_terminal(
    shown: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    text = click.unstyle(shown(200, *COMMANDS["simulate"]))
    assert max(map(len, text.split("\n"))) <= 60


def test_long_tables_do_without_rich(tmp_path: Path) -> None:
    domains = "".join(
        f'[[domain]]\nname = "vm{number}"\ninterface = {{ period = "10s", budget = "1ms" }}\n'
        '[[domain.task]]\nname = "t"\nperiod = "1000s"\nwcet = "1us"\n'
        for number in range(1000)
    )
    path = tmp_path / "many.toml"
    path.write_text(f'name = "many"\npolicy = "rtds"\n{domains}')
    code = (
        "import sys\n"
        "from hyperperiod.cli import main\n"
        f"main(['simulate', {str(path)!r}, '--horizon', '1s'], standalone_mode=False)\n"
        "sys.exit('rich' if 'rich' in sys.modules else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n vm999 ") == 2


# -- the writer itself ---------------------------------------------------------------------------


def example(*columns: Column, in_blocks: bool = False) -> Table:
    table = Table("title", columns, in_blocks)
    table.add_row(*("x" * 10 if column.right else f"name-{'y' * 30}" for column in columns))
    return table


def text_of(table: Table, width: int | None, **how: bool) -> str:
    return "\n".join(table.lines(width, **how))


def test_the_least_important_column_goes_first() -> None:
    table = Table("", [*words("n"), *numbers("a", rank=1), *numbers("b", "c", rank=2)])
    table.add_row("name", "1" * 10, "2" * 10, "3" * 10)
    assert not notes(text_of(table, 44))
    for width, out in ((40, "c"), (28, "b, c"), (16, "a, b, c")):
        assert notes(text_of(table, width)) == [f"{NOTE} left out: {out} (--wide shows all)"]


def test_names_are_shortened_in_the_middle_and_that_is_said() -> None:
    table = Table("", [*words("domain"), *numbers("a")])
    table.add_row("a-very-long-name-of-a-domain-1", "1")
    text = text_of(table, 26)
    assert text.split("\n")[2].split()[0] == "a-very-long…a-domain-1"
    assert notes(text) == [f"{NOTE} shortened: domain (--wide shows all)"]
    assert "a-very-long-name-of-a-domain-1" in text_of(table, None)


def test_a_narrow_block_has_at_least_one_series() -> None:
    table = Table("", [*words("domain", "task"), *numbers(*"abc")], in_blocks=True)
    table.add_row("d" * 40, "t" * 40, "1.000 ms", "2.000 ms", "3.000 ms")
    text = text_of(table, 40)
    assert all(len(line) <= 40 for line in text.split("\n"))
    assert all(f"{number}.000 ms" in text for number in (1, 2, 3))
    assert notes(text) == [f"{NOTE} shortened: domain, task (--wide shows all)"]


def test_blocks_without_a_series() -> None:
    table = Table("", words("domain", "task"), in_blocks=True)
    table.add_row("d" * 40, "t" * 40)
    assert text_of(table, 40).count("…") == 2


def test_a_screen_of_a_few_columns_is_survived() -> None:
    for width in range(1, 60):
        text = text_of(example(*words("domain", "task"), *numbers("jobs")), width)
        assert "name-" in text or "…" in text


@pytest.mark.parametrize(
    ("text", "width", "short"),
    [
        ("short", 5, "short"), ("abcdefg", 5, "ab…fg"), ("abcdefg", 4, "ab…g"),
        ("abcdefg", 1, "…"), ("日本語日本語", 7, "日本…語"), ("日本語日本語", 6, "日…語"),
    ],
)  # fmt: skip
def test_shortened(text: str, width: int, short: str) -> None:
    assert shortened(text, width) == short
    assert visible(short) <= width


def test_columns_of_the_screen_are_counted_not_letters() -> None:
    assert visible("日本") == 4
    assert visible("e\u0301") == 1
    assert visible("\x1b[32myes\x1b[0m") == 3
    table = Table("", [*words("domain"), *numbers("jobs")])
    table.add_row("日本", "1")
    table.add_row("abcd", "1")
    first, second = text_of(table, None).split("\n")[2:]
    assert visible(first) == visible(second)


def test_lines_are_wrapped_at_words_only() -> None:
    assert wrapped("one two three", 7) == ["one two", "three"]
    assert wrapped("- one two three", 9, "  ") == ["- one two", "  three"]
    assert wrapped("/a/long/path/name x", 5) == ["/a/long/path/name", "x"]
    assert wrapped("gcc  /usr/bin/gcc 12", 9, " " * 5) == ["gcc  /usr/bin/gcc", "     12"]


def test_a_colour_does_not_count_and_does_not_spread() -> None:
    table = Table("", [*words("verdict", "name")])
    table.add_row(Styled("yes", GOOD), "d")
    line = text_of(table, 80, colour=True).split("\n")[2]
    assert line == " \x1b[32myes\x1b[0m       d"
    assert text_of(table, None).split("\n")[2] == " yes       d"


def test_a_stream_that_knows_only_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    table = Table("t", [*words("domain")])
    table.add_row("d")
    Screen().table(table)
    stream.flush()
    assert raw.getvalue() == b"t\n\n domain\n ------\n d\n\n"


# -- numbers that people read --------------------------------------------------------------------


def test_overheads_are_times_per_second(tmp_path: Path) -> None:
    text = (SYSTEMS / "avionics-unfitted.toml").read_text()
    at = text.index("[[domain]]")
    path = tmp_path / "costly.toml"
    path.write_text(f'{text[:at]}[overheads]\ncontext_switch = "5us"\n\n{text[at:]}')
    found = piped("fit", str(path), "--heuristics")
    assert re.search(r"^ overhead +- +\d\.\d+ ms/s ", found, re.MULTILINE)
    assert " ns/s" not in found


def test_an_interface_of_several_vcpus_is_counted_for_all_of_them(tmp_path: Path) -> None:
    """4 vcpus of 3 ms in 10 ms are 120 % of a pcpu, of which the task uses 10 %."""
    path = tmp_path / "four.toml"
    path.write_text(
        'name = "four"\npolicy = "rtds"\npcpus = 4\n[[domain]]\nname = "vm"\nvcpus = 4\n'
        'interface = { period = "10ms", budget = "3ms" }\n'
        '[[domain.task]]\nname = "t"\nvcpu = 0\nperiod = "100ms"\nwcet = "10ms"\n'
    )
    rows = [line.split("  ") for line in piped("analyze", str(path)).split("\n") if " x " in line]
    cells = [[cell.strip() for cell in row if cell] for row in rows]
    assert cells == [["vm", "4 x 3ms in 10ms", "yes", "120.00 %", "10.00 %", "110.00 %"]]
    assert " 4 x 3ms in 10ms " in piped("simulate", str(path), "--horizon", "1s")


def test_the_shortest_deadline_and_the_bound_do_not_contradict_each_other() -> None:
    """Under EDF the bound is the deadline; what a deadline may shrink by stands beside what of."""
    text = piped("analyze", system("flight-control"), "--sensitivity")
    rows = [line.split() for line in text.split("\n") if " satellite " in line]
    assert rows[0][2:] == ["yes", "80", "ms", "80", "ms"]
    assert rows[1][2:] == ["6", "ms", "0", "ns", "77.5", "ms", "2.5", "ms"]
    assert " shortest deadline   less than now\n" in text
    assert " slack " not in text


def test_lists_of_a_trace_have_exact_times_with_units_or_nanoseconds(trace: str) -> None:
    for name in ("jobs", "intervals"):
        heading, _, *rows = piped("trace", name, trace).splitlines()
        raw_heading, _, *raw = piped("trace", name, trace, "--ns").splitlines()
        assert heading.split() == raw_heading.replace("_ns", "").split()
        assert len(rows) == len(raw)
        units = sum("ms" in row for row in rows)
        for row, one in zip(rows, raw, strict=True):
            for cell, number in zip(row.split(), one.split(), strict=True):
                assert cell == number or parse_time(cell) == int(number)
        assert units > 0


def test_a_computed_budget_is_the_least(tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    task = '[[domain.task]]\nname = "t"\nperiod = "20ms"\nwcet = "2ms"\n'
    file.write_text(
        'name = "s"\npolicy = "ptps"\noverheads = { context_switch = "2us" }\n'
        f'[[domain]]\nname = "a"\ninterface_period = "10ms"\n{task}'
        f'[[domain]]\nname = "b"\ninterface = {{ period = "10ms", budget = "3ms" }}\n{task}'
    )
    text = piped("analyze", str(file), "--sensitivity").partition("what could be spared")[2]
    rows = [line.split() for line in text.splitlines() if line[:3] in (" a ", " b ")]
    assert rows[0][3:6] == ["computed", "as", "least"]
    assert rows[1][4] in ("us", "ms")
