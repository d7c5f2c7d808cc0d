# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of the package share: the wheel in an environment of its own."""

import pytest
from tests.package.installed import Installed, wheel


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel alone, installed once in a process of the tests."""
    return Installed(wheel(tmp_path_factory), tmp_path_factory.mktemp("installed"))
