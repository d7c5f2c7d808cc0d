# SPDX-License-Identifier: BSD-2-Clause
"""xl and xenalyze of the series of patches, in a dom0 whose other tools are Debian's."""

import pytest
from tests.stack.sessions import run_session
from tests.support.xen_images import xl


@pytest.mark.slow
def test_xl_knows_the_scheduler(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Pools with a name, guests created in them, servers set and listed, what is refused."""
    folder = xl().parent
    programs = [folder / "xl", folder / "xenalyze", *folder.glob("lib*.so.*")]
    libraries = {f"libs/{path.name}": path.read_bytes() for path in programs}
    ran = run_session(tmp_path_factory, "xl", ["xl"], files=libraries)
    output = ran.results.get("xl.out", b"").decode(errors="replace")
    assert ran.results.get("xl.status") == b"0\n", f"{output[-3000:]}\n{ran.log[-3000:]}"
    assert ran.ended, ran.log[-3000:]
