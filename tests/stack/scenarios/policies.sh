# SPDX-License-Identifier: BSD-2-Clause
# The policy is replaced while guests run; each leaves them running.
ok hyperperiod-xen spare real-time --period 20ms --budget 1ms
says 'spare *1ms in 20ms' hyperperiod-xen pool-info real-time
for policy in wcps crps ds polling sporadic cbs partitioned-hsf-fp ptps deferrable+edf+extra \
  periodic+edf+reclaim cbs+fp+spare deferrable+fp+none crps; do
  ok hyperperiod-xen policy real-time $policy
  alive busy:0 busy:1 sleep
done
says 'policy *crps, partitioned' hyperperiod-xen pool-info real-time
# As fast as it goes; the fuzzer does it by the thousand.
for _ in $rounds; do
  for policy in ptps wcps crps ds polling sporadic cbs; do
    hyperperiod-xen policy real-time $policy
  done
done
ok hyperperiod-xen policy real-time crps
alive busy:0 busy:1 sleep
