# SPDX-License-Identifier: BSD-2-Clause
"""What `import hyperperiod` offers: every name, none of them loaded before it is asked for."""

import subprocess
import sys

import pytest

import hyperperiod


@pytest.mark.parametrize("name", hyperperiod.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(hyperperiod, name).__name__.rpartition(".")[2] == name
    assert name in dir(hyperperiod)


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'analyse'"):
        hyperperiod.analyse  # type: ignore[attr-defined]  # noqa: B018 - the access is the test


def test_importing_loads_nothing() -> None:
    heavy = "('numpy', 'hyperperiod.model')"
    program = f"import sys, hyperperiod; print([one for one in {heavy} if one in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
