# SPDX-License-Identifier: BSD-2-Clause
"""Who belongs to a server: cgroups, processes, threads, containers and virtual machines by name.

A member is written KIND:WHAT:

    cgroup:PATH      all threads of a cgroup (version 2) and below it, also those to come; or of all
                     that match a pattern, now or later, such as cgroup:system.slice/docker-*.scope
    unit:NAME        a unit of systemd, whether it runs or not; worker@*.service: all instances
    pid:N            all threads of a process, also those to come
    thread:N         one thread
    name:PATTERN     the threads whose name matches now, such as name:worker-*
    container:NAME   a container's or a service's cgroup: an id, or a name, of Docker, Podman,
                     containerd, CRI-O, LXC or systemd
    vm:NAME          the vcpus of a virtual machine of QEMU or libvirt: vcpu i belongs to the server
                     SERVER.i if there is one, else to SERVER
    iothread:NAME    its iothreads and vhost workers, which serve its disks and cards where QEMU is
                     told so
    emulator:NAME    all other threads of that virtual machine; vhost workers only under libvirt,
                     whose cgroup has them, until `iothread:` takes them by thread

Threads are those that are there now. What is said by cgroups lasts: libvirt's are those of the
machine's name, so that one which is started again is found again.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path
from typing import Final

from hyperperiod.model import InputError, MissingError

OF_MACHINES: Final = ("vm", "iothread", "emulator")
KINDS: Final = ("cgroup", "unit", "pid", "thread", "name", "container", *OF_MACHINES)
VCPU_THREAD: Final = re.compile(r"CPU (\d+)/\w+")
"""How QEMU calls the thread of a vcpu, if it names its threads (libvirt has it do so)."""
IOTHREAD: Final = re.compile(r"IO (?!mon_iothread$)")
"""How QEMU calls the thread of an `-object iothread`; that of its monitor is none."""
CONTAINER_FOLDER: Final = re.compile(
    r"(?:(?:docker|libpod|crio|cri-containerd|nspawn|lxc\.payload|machine)[-.])?(.+?)"
    r"(?:\.scope|\.service|\.slice)?"
)
"""How runtimes and systemd call the cgroup of a container or service: its id or name within."""
SHORTEST_ID: Final = 6
CONTAINER_TOOLS: Final = ("docker", "podman", "nerdctl")
"""What knows containers by the names that people give them."""
UNIT: Final = re.compile(r".+\.(?:service|scope|slice|socket|mount|swap)")
"""A whole name of a unit that has a cgroup."""
WILD: Final = re.compile(r"[*?[(]")
"""Characters that make a path a pattern of paths, as hyperperiodd reads it."""
LIBVIRT: Final = re.compile(r"(.*/machine-qemu\\x2d)\d+(\\x2d[^/]+\.scope/libvirt)(?:/.*)?")
"""The cgroup of a virtual machine of libvirt: each start has another number."""


@dataclass(frozen=True)
class KernelFiles:
    """Where the kernel shows processes and cgroups."""

    proc: Path = Path("/proc")
    cgroups: Path = field(default=Path("/sys/fs/cgroup"))

    def processes(self) -> Iterator[int]:
        """The numbers of all processes that are there now."""
        for folder in self.proc.iterdir():
            if folder.name.isdecimal():
                yield int(folder.name)

    def threads(self, process: int) -> Iterator[tuple[int, str]]:
        """The threads of a process, with their names; one that ends meanwhile is left out."""
        with suppress(FileNotFoundError, ProcessLookupError):
            for folder in sorted((self.proc / str(process) / "task").iterdir()):
                with suppress(FileNotFoundError, ProcessLookupError):
                    yield int(folder.name), (folder / "comm").read_text().rstrip("\n")

    def words(self, process: int) -> list[str]:
        """The command line of a process; empty for one of the kernel or one that has ended."""
        with suppress(FileNotFoundError, ProcessLookupError, PermissionError):
            data = (self.proc / str(process) / "cmdline").read_bytes()
            return data.decode("utf-8", "replace").rstrip("\0").split("\0") if data else []
        return []

    def cgroup(self, process: int) -> str:
        """The cgroup of a process; empty if it has ended."""
        with suppress(FileNotFoundError, ProcessLookupError):
            for line in (self.proc / str(process) / "cgroup").read_text().splitlines():
                if line.startswith("0::"):
                    return line.removeprefix("0::")
        return ""


def requests(
    server: str,
    member: str,
    servers: Sequence[str],
    host: KernelFiles | None = None,
    *,
    threads: bool = False,
) -> list[str]:
    """The requests that attach a member to a server; `servers` are all that there are.

    `threads`: a virtual machine by its threads alone. InputError for a member that cannot be found,
    and for a server that is not there.
    """
    host = host or KernelFiles()
    kind, separator, what = member.partition(":")
    _require_server(server, kind, servers)
    if kind not in KINDS or not separator or not what:
        raise InputError("", None, "member", repr(member), f"KIND:WHAT, KIND: {', '.join(KINDS)}")
    cgroup = None
    if kind in OF_MACHINES and not threads:
        cgroup = _libvirt(_virtual_machine(what, host), host)
    if kind == "emulator" and cgroup is not None:
        return [f"attach {server} cgroup={cgroup}/!(vcpu*|iothread*)"]
    if kind == "iothread" and cgroup is not None:
        own, workers = _iothreads(what, host)
        # libvirt leaves vhost workers in the cgroup of the emulator, before which a thread comes.
        lasting = [f"attach {server} cgroup={cgroup}/iothread*"] if own else []
        return [*lasting, *(f"attach {server} thread={number}" for number in workers)]
    if kind == "vm" and cgroup is not None:
        own = [index for index, _ in _vcpus(what, host) if f"{server}.{index}" in servers]
        rest = [f"attach {server} cgroup={cgroup}/vcpu*"] if server in servers else []
        return [*(f"attach {server}.{index} cgroup={cgroup}/vcpu{index}" for index in own), *rest]
    if kind == "vm":
        return [
            f"attach {_of_vcpu(server, index, servers)} thread={thread}"
            for index, thread in _vcpus(what, host)
        ]
    return [f"attach {server} {words}" for words in _words(kind, what, host)]


def _require_server(server: str, kind: str, servers: Sequence[str]) -> None:
    """InputError for a server that is not there; a virtual machine may have one for each vcpu."""
    if server in servers or (kind == "vm" and any(one.startswith(f"{server}.") for one in servers)):
        return
    listed = ", ".join(servers) if servers else "none is there"
    raise InputError("", None, "server", repr(server), f"one of the servers: {listed}")


def _words(kind: str, what: str, host: KernelFiles) -> list[str]:
    if kind == "cgroup":
        return [f"cgroup={what}"]
    if kind in ("pid", "thread"):
        if not what.isdecimal():
            raise InputError("", None, f"member {kind}", repr(what), "a number")
        return [f"{kind}={what}"]
    if kind == "unit":
        return [f"cgroup={_unit(what)} wait=1"]
    if kind == "container":
        return [f"cgroup={_container(what, host)}"]
    if kind == "emulator":
        process = _virtual_machine(what, host)
        others = {*(thread for _, thread in _vcpus(what, host)), *_vhost_workers(process, host)}
        return [
            f"thread={number}"
            for number, comm in host.threads(process)
            if number not in others and not IOTHREAD.match(comm)
        ]
    if kind == "iothread":
        return [f"thread={number}" for found in _iothreads(what, host) for number in found]
    found = _named(what, host)
    if not found:
        allowed = "the name of a thread that is there (/proc/*/task/*/comm)"
        raise InputError("", None, "member name", repr(what), allowed)
    return [f"thread={number}" for number in found]


def _named(pattern: str, host: KernelFiles) -> list[int]:
    """The threads whose name matches."""
    return [
        number
        for process in sorted(host.processes())
        for number, name in host.threads(process)
        if fnmatchcase(name, pattern)
    ]


def names_of(kind: str, host: KernelFiles | None = None) -> list[str]:
    """What there is of a kind, by name: containers and services, units, or virtual machines."""
    host = host or KernelFiles()
    if kind == "unit":
        return sorted({one.name for one in host.cgroups.rglob("*.service")})
    if kind == "container":
        folders = (
            one.name for ending in ("scope", "service") for one in host.cgroups.rglob(f"*.{ending}")
        )
        return sorted({match[1] for name in folders if (match := CONTAINER_FOLDER.fullmatch(name))})
    return sorted(virtual_machines(host)) if kind in OF_MACHINES else []


def _of_vcpu(server: str, index: int, servers: Sequence[str]) -> str:
    own = f"{server}.{index}"
    return own if own in servers else server


def virtual_machines(host: KernelFiles) -> dict[str, list[int]]:
    """The processes of QEMU by the name of their machine."""
    machines: dict[str, list[int]] = {}
    for process in sorted(host.processes()):
        words = host.words(process)
        if words and re.match(r"(?:qemu|kvm)", Path(words[0]).name):
            machines.setdefault(_name_in(words), []).append(process)
    return machines


def _virtual_machine(name: str, host: KernelFiles) -> int:
    """The process of QEMU that has this name."""
    machines = virtual_machines(host)
    if len(machines.get(name, [])) != 1:
        others = ", ".join(sorted(each for each in machines if each)) or "none is there"
        found = f"{len(machines.get(name, []))} called {name!r}"
        raise InputError("", None, "member vm", found, f"one virtual machine: {others}")
    return machines[name][0]


def _name_in(words: Sequence[str]) -> str:
    """What `-name` says in a command line of QEMU: NAME,... or guest=NAME,..."""
    for option, value in pairwise(words):
        if option in ("-name", "--name"):
            return value.split(",")[0].removeprefix("guest=")
    return ""


def _vcpus(name: str, host: KernelFiles) -> list[tuple[int, int]]:
    """The vcpus of a virtual machine: index and thread."""
    found = [
        (int(match[1]), number)
        for number, comm in host.threads(_virtual_machine(name, host))
        if (match := VCPU_THREAD.match(comm))
    ]
    if not found:
        allowed = "threads that QEMU names: -name NAME,debug-threads=on, as libvirt has it"
        raise InputError("", None, "member vm", f"no vcpus of {name!r}", allowed)
    return sorted(found)


def _iothreads(name: str, host: KernelFiles) -> tuple[list[int], list[int]]:
    """The iothreads of a virtual machine and its vhost workers."""
    process = _virtual_machine(name, host)
    own = [number for number, comm in host.threads(process) if IOTHREAD.match(comm)]
    workers = _vhost_workers(process, host)
    if not own and not workers:
        allowed = "-object iothread,id=ID, and names of threads: -name NAME,debug-threads=on"
        found = f"no iothreads or vhost workers of {name!r}"
        raise InputError("", None, "member iothread", found, f"{allowed}; or vhost=on")
    return own, workers


def _vhost_workers(process: int, host: KernelFiles) -> list[int]:
    """The vhost workers of a process, by whose number the kernel calls them.

    They are its own threads since Linux 6.4; before, and where vhost's `fork_from_owner_default`
    (6.17) is N, they are the kernel's.
    """
    return _named(f"vhost-{process}", host)


def _libvirt(process: int, host: KernelFiles) -> str | None:
    """A pattern for the cgroup in which libvirt keeps this machine's vcpus, at each of its starts.

    None for a machine that libvirt has not started, or whose vcpus have no cgroups.
    """
    cgroup = host.cgroup(process)
    match = LIBVIRT.fullmatch(cgroup)
    if match is None:
        return None
    folder = host.cgroups / cgroup.removeprefix("/")
    folder = next(one for one in (folder, *folder.parents) if one.name == "libvirt")
    return f"{match[1]}+([0-9]){match[2]}" if (folder / "vcpu0").is_dir() else None


def _unit(name: str) -> str:
    """The cgroup that a unit of systemd has whenever it runs; a pattern for that of instances."""
    unit = name if UNIT.fullmatch(name) else f"{name}.service"
    template, at, _ = unit.partition("@")
    if WILD.search(template if at else unit):
        allowed = "one unit, or NAME@*.service for instances; or cgroup:PATTERN"
        raise InputError("", None, "member unit", repr(name), allowed)
    shown = _shown(f"{template}@any{Path(unit).suffix}" if WILD.search(unit) else unit)
    if shown.get("LoadState") in (None, "not-found"):
        raise InputError("", None, "member unit", repr(unit), "one that `systemctl status` knows")
    if shown.get("ControlGroup") and not WILD.search(unit):
        return shown["ControlGroup"]
    return slice_path(unit) if unit.endswith(".slice") else f"{slice_path(shown['Slice'])}/{unit}"


def _shown(unit: str) -> dict[str, str]:
    """What systemd says of a unit; MissingError where there is no systemd."""
    keys = ("LoadState", "Slice", "ControlGroup")
    try:
        done = subprocess.run(
            ["systemctl", "show", *(f"--property={key}" for key in keys), "--", unit],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    except FileNotFoundError:
        raise MissingError("systemctl is not there; install it: sudo apt install systemd") from None
    except subprocess.CalledProcessError as error:
        raise MissingError(f"systemctl: {error.stderr.strip()}") from None
    pairs = (line.partition("=") for line in done.stdout.splitlines())
    return {key: value for key, _, value in pairs}


def slice_path(name: str) -> str:
    """Returns the cgroup of a slice of systemd: by its name a-b.slice is in a.slice."""
    words = name.removesuffix(".slice").split("-")
    if not any(words):
        return ""
    return "".join(f"/{'-'.join(words[: i + 1])}.slice" for i in range(len(words)))


def _container(name: str, host: KernelFiles) -> str:
    """The cgroup of a container or service, below the root of cgroups."""
    found = _containers(name, host)
    if not found:
        found = [folder for id_ in _ids(name) for folder in _containers(id_, host)]
    if len(found) != 1:
        listed = ", ".join(str(path.relative_to(host.cgroups)) for path in found)
        what = f"{len(found)} of {name!r}" + (f" ({listed})" if found else "")
        raise InputError("", None, "member container", what, "one that runs; or cgroup:PATH")
    return f"/{found[0].relative_to(host.cgroups)}"


def _ids(name: str) -> Iterator[str]:
    """The ids of the containers that the tools of this machine call so."""
    for tool in filter(shutil.which, CONTAINER_TOOLS):
        words = [tool, "container", "inspect", "--format", "{{.Id}}", "--", name]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            yield done.stdout.strip()


def _containers(name: str, host: KernelFiles) -> list[Path]:
    """The folders of the cgroups of containers and services of this name or id."""
    found: list[Path] = []
    for folder in sorted(path for path in host.cgroups.rglob("*") if path.is_dir()):
        match = CONTAINER_FOLDER.fullmatch(folder.name)
        own = match[1] if match else folder.name
        is_short_id = len(name) >= SHORTEST_ID and own.startswith(name)
        if own != name and folder.name != name and not is_short_id:
            continue
        # Below the cgroup of a container are others that it made itself.
        if not any(folder.is_relative_to(outer) for outer in found):
            found.append(folder)
    return found
