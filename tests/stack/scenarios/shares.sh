# SPDX-License-Identifier: BSD-2-Clause
# What two endless guests get of a pcpu beside a third without a server, under each policy of
# 'policies'. Counted instructions are the clock of all pcpus, so dom0 must be quiet meanwhile:
# begin-POLICY and end-POLICY say how many lines each guest's log had before and after.
ok hyperperiod-xen pool-create real-time --policy ptps --cpus 1
for name in a b rest; do
  in_pool real-time $name 1 workload=spin report=500
done
ok hyperperiod-xen set a --period 10ms --budget 4ms
ok hyperperiod-xen set b --period 20ms --budget 5ms
while read -r policy; do
  ok hyperperiod-xen policy real-time "$policy"
  sleep 1
  wc -l /var/log/xen/guest-*.log >"/results/begin-$policy"
  sleep 4
  wc -l /var/log/xen/guest-*.log >"/results/end-$policy"
done <policies
ok hyperperiod-xen trace real-time -o /results/ring
