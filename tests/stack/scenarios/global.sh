# SPDX-License-Identifier: BSD-2-Clause
# One lock domain for two pcpus: policies that place vcpus anywhere, pcpus that come and go.
ok hyperperiod-xen pool-create all --policy rtds --cpus 1,2
says '"policy": "rtds", "scope": "global", "pcpus": \[1, 2\]' hyperperiod-xen pool-info all --json
for name in ga gb gc; do
  in_pool all $name 2 workload=sleep vcpus=2 period=20000 work=1000 report=100
  ok hyperperiod-xen set $name --period 10ms --budget 2ms
done
in_pool all gs 1 workload=sleep period=10000 work=500 report=100
ok hyperperiod-xen set gs --period 10ms --budget 1ms
for policy in rtds ertds deferrable+edf+none periodic+fp+none cbs+edf+extra rtds; do
  [ $policy != ertds ] || ok hyperperiod-xen spare all --period 10ms --budget 1ms
  ok hyperperiod-xen policy all $policy
  alive ga:0 ga:1 gb:0 gb:1 gc:0 gc:1 gs
done
refused 2 'is not defined for all pcpus' hyperperiod-xen policy all crps
for _ in $rounds; do
  ok xl cpupool-cpu-remove all 2
  alive ga:0
  ok xl cpupool-cpu-add all 2
  alive gc:1
  ok xl cpupool-cpu-remove all 1
  alive gb:0
  ok xl cpupool-cpu-add all 1
done
for _ in $rounds; do
  moved ga 0
  moved ga all
done
alive ga:1
ok hyperperiod-xen trace all -o /results/ring-global
ok xl destroy ga
ok xl destroy gb
ok xl destroy gc
alive gs
ok xl destroy gs
ok hyperperiod-xen pool-destroy all
says '^Pool-0 *4 ' xl cpupool-list
says '{"pools": \[\]}' hyperperiod-xen pool-info --json
