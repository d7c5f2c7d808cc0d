# SPDX-License-Identifier: BSD-2-Clause
"""Every kind of page is judged by axe-core: contrasts, names, roles, headings, light and dark."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support import sample_report as sample
from tests.support.browser import needs_browser, violations
from tests.sweep.sweeps import SMALL, swept, written

from hyperperiod.cli import main
from hyperperiod.report import write_report

TOP = Path(__file__).parents[2]
SYSTEMS = TOP / "systems"
COMMANDS = {
    "compare": f"compare {SYSTEMS}/overload.toml --policies ptps,crps --horizon 1s --report",
    "fit": f"fit {SYSTEMS}/avionics-unfitted.toml --report",
    "explain": f"analyze {TOP}/docs/examples/explain.toml --explain log.send --plot",
    "latency": "latency --scenario affinity --policies ds,crps --runs 3 --report",
}
WEAK = """<!DOCTYPE html><title>Weak</title><style>p { color: #aaa; background: #fff }
@media screen and (prefers-color-scheme: dark) { p { color: #fff } b { color: #eee } }
</style><body><h1>Weak</h1><p>weak</p><b>strong, but in the dark</b><img src="none.png"></body>
"""


@pytest.fixture
def pages(tmp_path: Path) -> dict[str, Path]:
    """A page of each kind, by its name."""
    found = {name: tmp_path / f"{name}.html" for name in (*COMMANDS, "system", "weak")}
    for name, command in COMMANDS.items():
        CliRunner().invoke(main, [*command.split(), str(found[name])])
    parts = (sample.system(tmp_path), sample.analysis(tmp_path), sample.result())
    write_report(found["system"], *parts, sample.trace(tmp_path))
    found["weak"].write_text(WEAK)
    swept(written(tmp_path, SMALL), tmp_path / "swept")
    found["sweep"] = tmp_path / "swept" / "report.html"
    return found


@needs_browser
def test_pages_keep_the_rules_of_axe(pages: dict[str, Path], tmp_path: Path) -> None:
    found = violations(pages, tmp_path)
    weak = found.pop("weak")
    assert "light: color-contrast: p" in weak
    assert "dark: color-contrast: b" in weak
    assert "light: color-contrast: b" not in weak
    assert "light: image-alt: img" in weak
    assert not any(found.values()), found
