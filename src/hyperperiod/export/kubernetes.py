# SPDX-License-Identifier: BSD-2-Clause
"""A system for Kubernetes: each domain a manifest that asks for a cpu of its own for each vcpu.

`kubernetes`: a Pod whose requests are its limits, in whole cpus, which the kubelet's static CPU
manager gives it alone. `kubevirt`: a VirtualMachine of KubeVirt with dedicated cpus, one more for
the threads of its emulator, and its vcpus under SCHED_FIFO. Which cpus these are the kubelet
chooses. Manifests are JSON, which is YAML.

A vcpu is judged as under `libvirt`: as a server of 95 % of its cpu; the rest is for what the kernel
does there itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from hyperperiod.analysis import Analysis
from hyperperiod.export.folder import MANIFEST
from hyperperiod.export.pools import beginning, of_flows, pools_each
from hyperperiod.export.stock import on_own_pcpus, without_best_effort
from hyperperiod.model import Domain, InputError, System, to_toml
from hyperperiod.model.readers.libvirt import NEARLY_WHOLE
from hyperperiod.runs import complete

LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""A label of DNS (RFC 1123), as names of pods are."""
POD: Final = """\
2. Put your image, its memory and all else that it needs into the `.json` files. Every container
   of a pod needs requests that are its limits, in whole cpus; one beside it takes cpus of its
   own.
3. Inside, give each thread that stands for a vcpu a cpu of its own, in the order of the vcpus,
   of those in `/sys/fs/cgroup/cpuset.cpus.effective`: `taskset -p -c CPU THREAD`. Else the
   kernel moves them."""
EVEN: Final = """\
   A machine asks for a cpu more, for its emulator: under `full-pcpus-only` nodes with hyperthreads
   refuse one with an even number of vcpus, unless KubeVirt rounds up: its resource needs the
   feature gate `AlignCPUs` and, with an empty value, the annotation
   `alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity`.
"""
VIRTUAL_MACHINE: Final = """\
2. Put your disks, volumes and networks into the `.json` files, and the memory, which is in huge
   pages of the node (`hugepagesz=1G hugepages=N` at its boot): KubeVirt asks for them under
   `realtime`. It labels nodes that can run such machines if its feature gates have `CPUManager`
   and `NUMA`.
3. At each boot of the node, as root: `sysctl kernel.sched_rt_runtime_us=-1` and, from Linux 6.12
   on, `for each in /sys/kernel/debug/sched/*_server/cpu*/runtime; do echo 0 >$each; done`. Else
   the kernel takes 5 % of each second from a vcpu of SCHED_FIFO, up to 50 ms at once."""
SHARES: Final = {
    False: """\
- A pod's threads are of the kernel's usual class: they share a cpu with the kernel's own threads
  that are bound to it, and a pod with several cpus may leave one idle that it has work for.
""",
    True: """\
- A vcpu of SCHED_FIFO comes before the kernel's usual threads on its cpu, those that are bound
  to it among them: a guest that never waits keeps them from running.
- A vcpu waits for the emulator's threads, as for its disks, as long as those wait for their cpu.
""",
}


def as_pods(system: System) -> System:
    """The system with a cpu for each vcpu of a domain that has a server, all of it for the vcpu."""
    served = without_best_effort(system, "kubectl apply", "outside")
    return on_own_pcpus(served, "ptps", NEARLY_WHOLE)


def export_kubernetes(
    is_virtual: bool, system: System, cpus: Sequence[int] | None = None
) -> dict[str, str | bytes | Path]:
    """The files of the export, by name, of a system that `as_pods` made: pods, or machines of
    KubeVirt if it `is_virtual`.

    Raises InputError for names that Kubernetes does not take, and for `cpus`, which are not ours to
    choose.
    """
    if cpus is not None:
        found = ",".join(map(str, cpus))
        raise InputError("", None, "--cpus", found, "none: the kubelet chooses the cpus of a pod")
    system = complete(Analysis(system))
    manifest = _virtual_machine if is_virtual else _pod
    files: dict[str, str | bytes | Path] = {}
    for index, domain in enumerate(system.domains):
        file = f"{domain.name}.json"
        if not LABEL.fullmatch(domain.name) or file == MANIFEST:
            allowed = f"a label of DNS: up to 63 of a-z, 0-9 and, between these, -; no {MANIFEST}"
            raise InputError("", None, f"domain[{index}].name", repr(domain.name), allowed)
        files[file] = json.dumps(manifest(domain), indent=2) + "\n"
    files["system.toml"] = to_toml(system)
    files["README.md"] = _readme(is_virtual, system)
    return files


def _pod(domain: Domain) -> dict[str, Any]:
    own = {"cpu": str(domain.vcpus), "memory": "256Mi"}
    container = {
        "name": domain.name,
        "image": "IMAGE",
        "resources": {"requests": own, "limits": own},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": domain.name},
        "spec": {"containers": [container]},
    }


def _virtual_machine(domain: Domain) -> dict[str, Any]:
    cpu = {
        "sockets": 1,
        "cores": domain.vcpus,
        "threads": 1,
        "dedicatedCpuPlacement": True,
        "isolateEmulatorThread": True,
        "realtime": {},
        "numa": {"guestMappingPassthrough": {}},
    }
    memory = {"guest": "1Gi", "hugepages": {"pageSize": "1Gi"}}
    inside = {"domain": {"cpu": cpu, "memory": memory, "devices": {}}}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": domain.name},
        "spec": {"runStrategy": "Always", "template": {"spec": inside}},
    }


def _readme(is_virtual: bool, system: System) -> str:
    host, target = ("KubeVirt", "kubevirt") if is_virtual else ("Kubernetes", "kubernetes")
    pcpus = tuple(range(system.pcpus))
    return f"""{beginning(system, host, target, pcpus, pools_each(system, pcpus))}
The pool is the {"virtual machine" if is_virtual else "pod"}. Its pcpus are those of `system.toml`:
which of a node's cpus they are, the kubelet chooses when it is started, and on which node,
Kubernetes.

1. Nodes of Kubernetes 1.33 or later (before, a quota throttles what has a cpu to itself), whose
   kubelet has in its configuration `cpuManagerPolicy: static`,
   `cpuManagerPolicyOptions: {{full-pcpus-only: "true", strict-cpu-reservation: "true"}}` and
   `reservedSystemCPUs`, which are for all else. To change these, drain the node, stop the kubelet,
   remove `/var/lib/kubelet/cpu_manager_state` and start it again. With `full-pcpus-only` a node
   with hyperthreads takes whole cores only: round up to them.
{EVEN if is_virtual else ""}{VIRTUAL_MACHINE if is_virtual else POD}
4. `kubectl apply -f NAME.json` for each. {
        "`virsh vcpuinfo` in its virt-launcher pod"
        if is_virtual
        else "`kubectl exec NAME -- cat /sys/fs/cgroup/cpuset.cpus.effective`"
    } shows its cpus.

A best-effort domain of the system is not in here: it is to be without whole cpus of its own.

## What this host does not guarantee

- The static CPU manager keeps other containers away, not what is no container: services of the
  node, interrupts and kernel threads. `reservedSystemCPUs` says where they should be, the node's
  own settings put them there (`AllowedCPUs=`, `/proc/irq/*/smp_affinity_list`).
- What was measured of the kernel's own work is counted below; a node with other devices and
  loads has other numbers.
{SHARES[is_virtual]}\
- Caches, memory and hyperthreads are shared with the other cpus all the same.
- A pod that is started again, or moved to another node, is not there meanwhile.
- The costs that are counted are those of Hyperperiod's scheduler on the same kernel.
{of_flows(system)}"""
