# SPDX-License-Identifier: BSD-2-Clause
# Counters of vcpus under a global policy, and the switch of a pool's rings.
ok hyperperiod-xen pool-create counted --policy rtds --cpus 1,2
for name in one two any; do
  in_pool counted $name 1 workload=spin report=50
  ok hyperperiod-xen set $name --period 10ms --budget 3ms
done
ok hyperperiod-xen stats counted
# On a host that stood still several periods end at once, and a budget but once.
for try in $(seq 100); do
  alive one two any
  hyperperiod-xen stats counted --json >/results/stats.json
  grep -q -E '"depleted": *(10|[0-9])\b' /results/stats.json || break
done
echo "looked $try times"
ok hyperperiod-xen trace counted -o /results/ring-counted
# A ring that is switched off stands still.
ok hyperperiod-xen record counted off
ok hyperperiod-xen trace counted -o /tmp/still
alive one two any
ok hyperperiod-xen trace counted -o /tmp/still-so
ok cmp /tmp/still /tmp/still-so
ok hyperperiod-xen record counted on
alive one
ok hyperperiod-xen trace counted -o /tmp/moved
! cmp -s /tmp/still /tmp/moved || fail "the ring takes nothing any more"
refused 2 'allowed: on, off' hyperperiod-xen record counted maybe
for name in one two any; do
  ok xl destroy $name
done
ok hyperperiod-xen pool-destroy counted
