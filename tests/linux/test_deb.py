# SPDX-License-Identifier: BSD-2-Clause
"""The package of hyperperiodd: what is in it, what dpkg makes of it, and that its daemon serves."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from tests.linux.whole import session
from tests.support.building import said
from tests.support.on_linux import need_linux

from hyperperiod.version import VERSION
from tools import make_deb

pytestmark = pytest.mark.xdist_group("package of hyperperiodd")

FILES = {
    "./etc/hyperperiod/requests": "-rw-r--r--",
    "./usr/bin/hyperperiodctl": "-rwxr-xr-x",
    "./usr/lib/hyperperiod/hyperperiod.bpf.o": "-rw-r--r--",
    "./usr/lib/systemd/system/hyperperiodd.service": "-rw-r--r--",
    "./usr/sbin/hyperperiodd": "-rwxr-xr-x",
    "./usr/share/containers/oci/hooks.d/hyperperiod.json": "-rw-r--r--",
    "./usr/share/doc/hyperperiodd/changelog.gz": "-rw-r--r--",
    "./usr/share/doc/hyperperiodd/copyright": "-rw-r--r--",
    "./usr/share/lintian/overrides/hyperperiodd": "-rw-r--r--",
    "./usr/share/man/man1/hyperperiodctl.1.gz": "-rw-r--r--",
    "./usr/share/man/man8/hyperperiodd.8.gz": "-rw-r--r--",
}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_linux()
    return make_deb.build(tmp_path_factory.mktemp("deb"))


def test_the_package_has_these_files_and_no_others(package: Path) -> None:
    rows = [line.split() for line in said("dpkg-deb", "--contents", package).splitlines()]
    assert {row[5]: row[0] for row in rows if not row[5].endswith("/")} == FILES
    assert {row[1] for row in rows} == {"root/root"}
    assert {row[0] for row in rows if row[5].endswith("/")} == {"drwxr-xr-x"}
    assert package.name == f"hyperperiodd_{VERSION}_amd64.deb"


def test_the_daemon_needs_no_libbpf_and_no_newer_libc_than_it_says(
    package: Path, tmp_path: Path
) -> None:
    """So it is that of any Debian since the one that it was built on."""
    depends = said("dpkg-deb", "--field", package, "Depends")
    said("dpkg-deb", "-x", package, tmp_path)
    daemon = tmp_path / "usr/sbin/hyperperiodd"
    needed = [line for line in said("readelf", "-d", daemon).splitlines() if "NEEDED" in line]
    assert sorted(line.split("[")[1] for line in needed) == [
        "libc.so.6]",
        "libelf.so.1]",
        "libz.so.1]",
    ]
    assert f"libc6 (>= {make_deb.newest_libc([daemon])})" in depends
    assert "--requests FILE" in said(daemon, "--help")


def test_the_unit_starts_what_is_in_the_package(package: Path, tmp_path: Path) -> None:
    said("dpkg-deb", "-x", package, tmp_path)
    unit = (tmp_path / "usr/lib/systemd/system/hyperperiodd.service").read_text()
    (start,) = (line for line in unit.splitlines() if line.startswith("ExecStart="))
    paths = [word for word in start.partition("=")[2].split() if word.startswith("/")]
    *installed, kept = paths
    assert [f".{path}" in FILES for path in installed] == [True] * 3
    assert kept == "/sys/fs/bpf/hyperperiod"


@pytest.mark.slow
def test_the_same_sources_give_the_same_package(package: Path, tmp_path: Path) -> None:
    first = package.read_bytes()
    assert make_deb.build(tmp_path).read_bytes() == first


class Root:
    """A folder in which dpkg installs, with books of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for made in ("updates", "info"):
            (folder / "dpkg" / made).mkdir(parents=True)
        for made in ("status", "available"):
            (folder / "dpkg" / made).touch()

    def dpkg(self, *words: str | Path) -> None:
        """The packages that it depends on are those of this machine."""
        books = [f"--admindir={self.folder}/dpkg", f"--instdir={self.folder}", "--log=/dev/null"]
        forced = ("--force-depends", "--force-script-chrootless", "--force-not-root")
        said("dpkg", *books, *forced, *words)


def test_requests_outlive_an_upgrade_and_a_removal(package: Path, tmp_path: Path) -> None:
    """Purged is purged, also the link that `systemctl enable` makes."""
    root = Root(tmp_path)
    root.dpkg("--install", package)
    enabled = tmp_path / "etc/systemd/system/multi-user.target.wants/hyperperiodd.service"
    enabled.parent.mkdir(parents=True)
    enabled.symlink_to("/usr/lib/systemd/system/hyperperiodd.service")
    mine = tmp_path / "etc/hyperperiod/requests"
    mine.write_text("policy name=ds pcpus=0\n")
    root.dpkg("--install", package)
    assert mine.read_text() == "policy name=ds pcpus=0\n"
    pins = tmp_path / "sys/fs/bpf/hyperperiod"
    pins.mkdir(parents=True)
    root.dpkg("--remove", "hyperperiodd")
    assert not pins.exists()
    assert mine.read_text() == "policy name=ds pcpus=0\n"
    assert enabled.is_symlink()
    assert not (tmp_path / "usr/sbin/hyperperiodd").exists()
    root.dpkg("--purge", "hyperperiodd")
    assert not mine.parent.exists()
    assert not enabled.is_symlink()


@pytest.mark.slow
def test_lintian_has_nothing_to_say(package: Path) -> None:
    if shutil.which("lintian") is None:
        pytest.skip("lintian: not found; apt-get install lintian")
    root = ["--allow-root"] if os.geteuid() == 0 else []
    assert said("lintian", *root, "--fail-on", "error,warning", package) == ""


SESSION = """\
mkdir -p inst/dpkg/updates inst/dpkg/info
touch inst/dpkg/status inst/dpkg/available
dpkg --admindir=/tmp/inst/dpkg --instdir=/tmp/inst --log=/dev/null --force-depends \\
    --force-script-chrootless --install hyperperiodd.deb || exit 1
export PATH=/tmp/inst/usr/bin:/tmp/inst/usr/sbin:$PATH
mkdir -p /run/hyperperiod
sh -c 'while :; do :; done' &
hog=$!
cat >inst/etc/hyperperiod/requests <<END
policy name=ds pcpus=0
server web pcpu=0 period_ns=10000000 budget_ns=3000000
attach web pid=$hog
server hyperperiodd pcpu=0 best_effort=1
attach hyperperiodd pid=self
start
END
sh -c 'while :; do :; done' &
$(sed -n 's/^ExecStart=//p' inst/usr/lib/systemd/system/hyperperiodd.service |
    sed 's|/usr/|/tmp/inst/usr/|g; s|/etc/|/tmp/inst/etc/|') >left/log 2>&1 &
for look in $(seq 60); do
    hyperperiodctl status >left/first 2>&1 && grep -q '"running": true' left/first && break
    sleep 0.5
done
sleep 4
hyperperiodctl status >left/status
exit 0
"""


@pytest.mark.slow
def test_the_daemon_of_the_package_gives_30_percent_of_a_core(
    package: Path, tmp_path: Path
) -> None:
    """Installed on this machine's files under a kernel with sched_ext, started as the unit says."""
    left = session(SESSION, {"hyperperiodd.deb": package.read_bytes()}, tmp_path)
    looks = [json.loads(left[name])["servers"][0] for name in ("first", "status")]
    had = (looks[1]["used_ns"] - looks[0]["used_ns"]) / (looks[1]["now_ns"] - looks[0]["now_ns"])
    assert had == pytest.approx(0.3, abs=0.003)
