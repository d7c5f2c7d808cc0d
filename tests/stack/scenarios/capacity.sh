# SPDX-License-Identifier: BSD-2-Clause
# A pool has 64 places. A domain that does not fit stays where it is; nothing is taken from it,
# nothing is lost, and the next one that fits gets in. Xen refuses it whole, before it makes or
# moves any of its vcpus.
memory=$(free_memory)
xl dmesg -c >/dev/null
in_pool real-time large 60 workload=sleep period=20000 work=1000 report=100
says '"vcpus": 63' hyperperiod-xen pool-info real-time --json
ok hyperperiod-xen set large --vcpu 59 --period 100ms --budget 1ms
says 'vcpu 59 *1ms in 100ms' hyperperiod-xen get large --vcpu 59
guest wide 2 workload=sleep vcpus=2 period=20000 work=1000 report=100
refused 1 'no place is left' hyperperiod-xen move wide real-time
says '"vcpus": 63' hyperperiod-xen pool-info real-time --json
alive wide:0 wide:1
in_pool real-time one 1 workload=sleep period=20000 work=1000 report=100
says '"vcpus": 64' hyperperiod-xen pool-info real-time --json
alive one
ok xl destroy large
moved wide real-time
says '"vcpus": 6' hyperperiod-xen pool-info real-time --json
alive wide:1
ok xl destroy wide
ok xl destroy one
for _ in $rounds; do
  guest vast 70 workload=sleep period=20000 work=1000 report=100
  refused 1 'no place is left' hyperperiod-xen move vast real-time
  alive vast
  ok xl destroy vast
done
says '"vcpus": 3' hyperperiod-xen pool-info real-time --json
alive busy:0
cat >/tmp/huge.cfg <<CFG
name = "huge"
type = "pv"
kernel = "/session/guest.elf"
memory = 8
vcpus = 62
pool = "real-time"
CFG
refused 3 'No space left on device' xl create -p -q /tmp/huge.cfg
says '"vcpus": 3' hyperperiod-xen pool-info real-time --json
if xl dmesg | grep -q 'places of the pool are taken'; then
  fail "refused one vcpu after the other"
fi
# The console's debug key tells who is in the pool, and what each pcpu does.
ok xl debug-keys r
says '^(XEN)  *[0-9]*: d[0-9]*v0 on [12], [0-9]* ns in [0-9]* ns, priority' xl dmesg
says 'at [0-9]* ns: runs ' xl dmesg
# The hypervisor's memory comes back, but for what it keeps in caches.
sleep 1
echo "free memory: $memory MiB before, $(free_memory) MiB after"
[ "$(free_memory)" -ge "$((memory - 2))" ] || fail "memory is lost"
