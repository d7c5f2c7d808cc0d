# SPDX-License-Identifier: BSD-2-Clause
"""The commands that need no simulator: help, doctor, schema, and readings of a small trace."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import hyperperiod
from hyperperiod.cli import main
from hyperperiod.cli.group import NATIVE_MODULES
from hyperperiod.cli.machine import PROBES
from hyperperiod.model.schema import system_schema
from hyperperiod.trace.format import RECORD, Kind, write_header

COMMANDS = [
    "analyze",
    "fit",
    "simulate",
    "run",
    "compare",
    "latency",
    "export",
    "trace",
    "man",
    "doctor",
    "schema",
]
NONE = 0xFFFF


def run(*arguments: str) -> Result:
    return CliRunner().invoke(
        main, list(arguments), prog_name="hyperperiod", catch_exceptions=False
    )


def test_version() -> None:
    assert run("--version").stdout == f"hyperperiod {hyperperiod.__version__}\n"


def test_help_lists_the_commands() -> None:
    result = run("--help")
    assert result.exit_code == 0
    assert all(f"\n  {command} " in result.stdout for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str) -> None:
    result = run(command, "-h")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: hyperperiod {command} ")


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from hyperperiod.cli import main\n"
        "heavy = {'rich', 'numpy', 'pyarrow', 'hyperperiod._sim'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_schema_prints_the_schema_of_system_files() -> None:
    assert json.loads(run("schema").stdout) == system_schema()


def test_doctor_says_how_to_get_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    result = run("doctor", "--json")
    assert result.exit_code == 0
    findings = json.loads(result.stdout)["findings"]
    assert [finding["name"] for finding in findings] == [probe.name for probe in PROBES]
    for finding in findings:
        assert bool(finding["install"]) is not finding["works"]
    missing = {finding["name"]: finding["install"] for finding in findings if finding["install"]}
    assert missing["C compiler"] == "apt-get install gcc"


def test_doctor_knows_which_hypervisors_are_built(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HYPERPERIOD_BUILD", str(tmp_path))
    (tmp_path / "xen" / "arm64").mkdir(parents=True)
    (tmp_path / "xen" / "arm64" / "xen").touch()
    findings = json.loads(run("doctor", "--json").stdout)["findings"]
    found = {finding["name"]: finding for finding in findings}
    assert found["xen"]["works"]
    assert found["xen"]["found"].startswith(f"{tmp_path}/xen/arm64/xen, built ")
    assert found["xen guests"]["install"] == "hyperperiod xen build"
    assert found["xen for x86"]["install"] == "hyperperiod xen build x86_64"
    assert found["xen without us"]["install"] == "hyperperiod xen build arm64-stock"


def test_doctor_for_people() -> None:
    result = run("doctor")
    assert result.exit_code == 0
    assert "works    python" in result.stdout
    assert len(result.stdout.splitlines()) >= len(PROBES)


OVERHEADS = ("context_switch", "pick", "replenish", "wake", "interrupt", "migration")
HEADER = {
    "format": 1,
    "system": "small",
    "host": "sim",
    "policy": "ds",
    "budget": "deferrable",
    "order": "fp",
    "slack": "none",
    "scope": "partitioned",
    "seed": 0,
    "horizon_ns": 10,
    "quantum_ns": None,
    "pcpus": 1,
    "overheads": {f"{name}_ns": 0 for name in OVERHEADS},
    "vcpus": [
        {
            "name": "a",
            "domain": "a",
            "period_ns": 10,
            "budget_ns": 5,
            "priority": 0,
            "pcpu": 0,
            "best_effort": False,
            "extra": False,
        }
    ],
    "spare": None,
    "tasks": [
        {
            "domain": "a",
            "name": "t",
            "kind": "periodic",
            "period_ns": 10,
            "deadline_ns": 10,
            "wcet_ns": 3,
            "bcet_ns": 3,
            "offset_ns": 0,
            "jitter_ns": 0,
            "priority": 0,
        }
    ],
    "swaps": [],
    "changes": [],
}

# A vcpu runs one job of 3 ns from 0, then the pcpu idles until 10. The fields are time,
# value, job, pcpu, vcpu, payer, task, kind, flags, reserved.
ROWS = [
    (0, 10, 0, NONE, 0, NONE, 0, Kind.RELEASE, 0, 0),
    (0, 0, 0, NONE, 0, NONE, NONE, Kind.ARRIVE, 0, 0),
    (0, 5, 0, 0, 0, 0, 0, Kind.RUN, 0, 0),
    (3, 3, 0, 0, 0, 0, NONE, Kind.CHARGE, 0, 0),
    (3, 3, 0, NONE, 0, NONE, 0, Kind.COMPLETE, 0, 0),
    (3, 0, 0, NONE, 0, NONE, NONE, Kind.DEPART, 0, 0),
    (3, 10, 0, 0, NONE, NONE, NONE, Kind.IDLE, 0, 0),
    (10, 0, 0, NONE, NONE, NONE, NONE, Kind.END, 0, 0),
]


@pytest.fixture
def trace(tmp_path: Path) -> str:
    """A small trace file."""
    path = tmp_path / "run.hpt"
    write_header(path, HEADER)
    with path.open("ab") as file:
        file.write(np.array(ROWS, dtype=RECORD).tobytes())
    return str(path)


def test_intervals(trace: str) -> None:
    result = run("trace", "intervals", trace, "--csv")
    assert result.stdout == "pcpu,start_ns,end_ns,run,pay\n0,0,3,a,a\n0,3,10,idle,\n"
    assert run("trace", "intervals", trace).stdout == (
        " pcpu   start    end   run    pay\n"
        " ────────────────────────────────\n"
        " 0        0ns    3ns   a      a\n"
        " 0        3ns   10ns   idle\n"
    )


def test_jobs(trace: str) -> None:
    result = run("trace", "jobs", trace, "--csv")
    assert result.stdout.splitlines()[1] == "a,t,0,0,0,3,10"
    assert len(run("trace", "jobs", trace).stdout.splitlines()) == 3


def test_check(trace: str) -> None:
    result = run("trace", "check", trace, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["ok"] is True
    assert run("trace", "check", trace).exit_code == 0


@pytest.mark.parametrize("suffix", [".csv", ".CSV", ".parquet", ".pftrace"])
def test_convert(suffix: str, trace: str, tmp_path: Path) -> None:
    output = tmp_path / f"out{suffix}"
    result = run("trace", "convert", trace, str(output))
    assert result.exit_code == 0, result.stderr
    assert output.stat().st_size > 0


def test_convert_to_nothing_known(trace: str, tmp_path: Path) -> None:
    result = run("trace", "convert", trace, str(tmp_path / "out.svg"))
    assert result.exit_code == 2
    assert (
        "found '.svg'; allowed: a name that ends in .pftrace or .csv or .parquet" in result.stderr
    )
    assert not (tmp_path / "out.svg").exists()


def test_convert_onto_itself(trace: str) -> None:
    before = Path(trace).read_bytes()
    target = Path(trace).with_suffix(".csv")
    Path(trace).rename(target)
    result = run("trace", "convert", str(target), str(target))
    assert result.exit_code == 2
    assert target.read_bytes() == before


def test_a_mistake_of_ours_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HYPERPERIOD_DEBUG", raising=False)
    monkeypatch.setattr("hyperperiod.model.schema.system_schema", lambda: 1 // 0)
    result = run("schema")
    assert result.exit_code == 70
    assert "internal error: ZeroDivisionError" in result.stderr
    assert "HYPERPERIOD_DEBUG=1" in result.stderr
    assert "Traceback" not in result.stderr
    monkeypatch.setenv("HYPERPERIOD_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        run("schema")


@pytest.mark.parametrize("module", NATIVE_MODULES)
def test_what_is_not_built_is_said(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking() -> str:
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)

    monkeypatch.setattr("hyperperiod.model.schema.system_schema", lacking)
    result = run("schema")
    assert result.exit_code == 3
    assert result.stderr == f"error: {module} is not built; build it with: make build\n"


def test_all_native_modules_are_known() -> None:
    stubs = Path(hyperperiod.__file__).parent.glob("_*.pyi")
    assert set(NATIVE_MODULES) == {f"hyperperiod.{stub.stem}" for stub in stubs}


EXPLAINED = str(Path(__file__).parents[2] / "docs" / "examples" / "explain.toml")


def test_an_explanation_as_object_text_picture_and_page(tmp_path: Path) -> None:
    result = run("analyze", EXPLAINED, "--explain", "brakes.fuse", "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)["explain"]
    assert found["windows"][0]["short_ns"] == 5_000_000
    for name in ("why.svg", "WHY.HTML"):
        result = run(
            "analyze", EXPLAINED, "--explain", "brakes.fuse", "--plot", str(tmp_path / name)
        )
        assert result.exit_code == 1
        assert found["text"] in result.stdout
        assert "<svg" in (tmp_path / name).read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--plot", "why.svg"], "found --plot alone; allowed: with --explain"),
        (["--explain", "brakes.fuse", "--plot", "why.png"], ".svg or .html"),
        (["--explain", "brakes.fuse", "--plot", "nowhere/why.svg"], "--plot"),
        (["--explain", "nobody"], "brakes.wheel"),
    ],
)
def test_plots_that_cannot_be_made(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("analyze", EXPLAINED, *arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert list(tmp_path.iterdir()) == []
