# SPDX-License-Identifier: BSD-2-Clause
# pcpus leave and join a pool whose vcpus run; a guest is paused, leaves, comes back, and dies.
for _ in $rounds; do
  ok xl cpupool-cpu-remove real-time 2
  says '"pcpus": \[1\]' hyperperiod-xen pool-info real-time --json
  alive busy:0 busy:1 sleep
  ok xl cpupool-cpu-add real-time 2
  alive busy:0 busy:1
  ok xl cpupool-cpu-remove real-time 1
  alive busy:0 busy:1
  ok xl cpupool-cpu-add real-time 1
  alive sleep
done
# By way of Pool-0.
ok xl cpupool-cpu-remove real-time 2
ok xl cpupool-cpu-add Pool-0 2
ok xl cpupool-cpu-remove Pool-0 2
ok xl cpupool-cpu-add real-time 2
alive busy:1

for _ in $rounds; do
  ok xl pause busy
  ok xl unpause busy
done
ok xl pause sleep
ok hyperperiod-xen move sleep 0
ok hyperperiod-xen move sleep real-time
ok xl unpause sleep
alive sleep
moved busy 0
moved busy real-time
says 'vcpu 0 *best effort' hyperperiod-xen get busy
alive busy:0

for number in $rounds; do
  in_pool real-time short$number 1 workload=storm work=200 report=100
  ok hyperperiod-xen set short$number --period 5ms --budget 1ms
  alive short$number
done
for number in $rounds; do
  ok xl destroy short$number
done
says '"vcpus": 3' hyperperiod-xen pool-info real-time --json
alive busy:0
