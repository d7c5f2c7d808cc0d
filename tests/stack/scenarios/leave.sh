# SPDX-License-Identifier: BSD-2-Clause
# The guests that are left die in the pool while they run.
ok hyperperiod-xen trace real-time --cpu 1 -o /results/ring-end1
ok hyperperiod-xen trace real-time --cpu 2 -o /results/ring-end2
ok xl destroy busy
ok xl destroy sleep
says '"vcpus": 0' hyperperiod-xen pool-info real-time --json
ok hyperperiod-xen pool-destroy real-time
