# SPDX-License-Identifier: BSD-2-Clause
# Guests die in a pool whose pcpu leaves just then, and new ones take their memory: what the pcpu
# remembers of its last guest must not be written to. The pools are of Xen's own scheduler and of
# ours in turn.
cat >/tmp/short.cfg <<CFG
name = "short"
sched = "credit2"
cpus = [1]
CFG
ok xl cpupool-cpu-remove Pool-0 1
for _ in $rounds; do
  for make in 'xl cpupool-create /tmp/short.cfg' \
    'hyperperiod-xen pool-create short --policy wcps --cpus 1'; do
    # shellcheck disable=SC2086 # a command
    ok $make
    guest_flags=-p
    guest brief 1 workload=spin report=100
    guest_flags=
    ok xl cpupool-migrate brief short
    ok xl unpause brief
    alive brief
    ok xl destroy brief
    ok xl cpupool-destroy short
  done
done
ok xl cpupool-cpu-add Pool-0 1
says '^Pool-0 *4 ' xl cpupool-list
