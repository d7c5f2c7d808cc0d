# SPDX-License-Identifier: BSD-2-Clause
# The guests that are left die in the pool while they run.
ok xl destroy busy
ok xl destroy sleep
says '"vcpus": 0' hyperperiod-xen pool-info real-time --json
