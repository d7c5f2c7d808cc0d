# SPDX-License-Identifier: BSD-2-Clause
# Hard affinity under a global policy: who may run on one pcpu only runs there, and nowhere else.
ok hyperperiod-xen pool-create pinned --policy rtds --cpus 1,2
for name in one two any; do
  in_pool pinned $name 1 workload=spin report=50
  ok hyperperiod-xen set $name --period 10ms --budget 3ms
done

# only_on NAME PCPU: the guest is seen there, once it has left where it ran when it was bound: what
# is listed is the pcpu that a vcpu has run on last. Two looks more see that this is not by chance.
# Where it was granted a pcpu, at what instant, is judged by the core's laws: in Xen at every
# decision, and in the ring, which is checked afterwards.
only_on() {
  only_on_tries=0
  until [ "$(xl vcpu-list "$1" | awk 'NR == 2 { print $4 }')" = "$2" ]; do
    only_on_tries=$((only_on_tries + 1))
    [ $only_on_tries -lt 40 ] || fail "$1 does not come to pcpu $2, the only one that it may run on"
    usleep 50000
  done
  for _ in 1 2; do
    only_on_seen=$(xl vcpu-list "$1" | awk 'NR == 2 { print $4 }')
    [ "$only_on_seen" = "$2" ] || fail "$1 is on pcpu $only_on_seen, and may run on $2 only"
  done
}

# One that may run anywhere makes room.
for _ in $rounds; do
  for pcpu in 1 2; do
    ok xl vcpu-pin one 0 $pcpu
    alive one two any
    only_on one $pcpu
  done
done
# Each on its own, which they exchange; both on one; and free again.
ok xl vcpu-pin two 0 1
alive one two any
only_on one 2
only_on two 1
ok xl vcpu-pin one 0 1
ok xl vcpu-pin two 0 2
alive one two any
only_on one 1
only_on two 2
ok xl vcpu-pin two 0 1
alive one two any
only_on one 1
only_on two 1
ok xl vcpu-pin one 0 all
ok xl vcpu-pin two 0 all
alive one two any
# A pcpu leaves that somebody needs.
ok xl vcpu-pin one 0 2
alive one
ok xl cpupool-cpu-remove pinned 2
alive one two any
ok xl cpupool-cpu-add pinned 2
alive one two any
ok hyperperiod-xen trace pinned -o /results/ring-pinned
for name in one two any; do
  ok xl destroy $name
done
ok hyperperiod-xen pool-destroy pinned
