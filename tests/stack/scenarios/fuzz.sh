# SPDX-License-Identifier: BSD-2-Clause
# Random calls, as 'calls' says, while guests run in two pools; then all is taken down in order,
# which works only if nothing was lost on the way. The seed makes a failure come back.
ok hyperperiod-xen pool-create one --policy crps --cpus 1
ok hyperperiod-xen pool-create two --policy rtds --cpus 2
for name in fa fb; do
  in_pool one $name 2 workload=sleep vcpus=2 period=10000 work=500 report=100
done
for name in fc fd; do
  in_pool two $name 2 workload=sleep vcpus=2 period=10000 work=500 report=100
done
# shellcheck disable=SC2046 # words: seed, calls, perhaps 'pools'
ok fuzz $(cat calls)
ok hyperperiod-xen pool-info
ok xl vcpu-list
for name in fa fb fc fd; do
  moved $name 0
done
alive fa:0 fa:1 fb:0 fb:1 fc:0 fc:1 fd:0 fd:1
for name in fa fb fc fd; do
  ok xl destroy $name
done
hyperperiod-xen pool-info --json | tr '{' '\n' | sed -n 's/^"pool": \([0-9]*\),.*/\1/p' >/tmp/pools
for pool in $(cat /tmp/pools); do
  ok hyperperiod-xen pool-destroy "$pool"
done
says '{"pools": \[\]}' hyperperiod-xen pool-info --json
