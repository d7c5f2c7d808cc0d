# SPDX-License-Identifier: BSD-2-Clause
# A pool is made, shown, and known to stock xl; two guests move into it and get servers.
ok hyperperiod-xen pool-create real-time --policy ptps --cpus 1,2
ok hyperperiod-xen pool-info
says '"pools": \[{"pool": [0-9]*, "name": "real-time", "policy": "ptps"' \
  hyperperiod-xen pool-info --json
says '"pcpus": \[1, 2\], "vcpus": 0, "capacity": 64' hyperperiod-xen pool-info real-time --json
says '^real-time *2 ' xl cpupool-list
says '^Pool-0 *2 ' xl cpupool-list
hyperperiod-xen pool-info real-time --json >/results/pool.json

guest_flags=-p
guest busy 2 workload=sleep vcpus=2 period=20000 work=2000 report=100
guest sleep 1 workload=sleep period=20000 work=1000 report=100
guest_flags=
refused 2 'another scheduler' hyperperiod-xen get busy
ok hyperperiod-xen move busy real-time
ok hyperperiod-xen move "$(xl domid sleep)" real-time
ok xl unpause busy
ok xl unpause sleep
says 'busy sleep' hyperperiod-xen pool-info real-time
says '"vcpus": 3' hyperperiod-xen pool-info real-time --json
says 'vcpu 0 *best effort' hyperperiod-xen get busy

ok hyperperiod-xen set busy --period 10ms --budget 1ms --extra
ok hyperperiod-xen set busy --vcpu 1 --period 20ms --budget 5ms --priority 9
ok hyperperiod-xen set sleep --period 20ms --budget 2500us
says 'vcpu 0 *1ms in 10ms, priority 10000, extra time' hyperperiod-xen get busy
says 'vcpu 1 *5ms in 20ms, priority 9' hyperperiod-xen get busy
hyperperiod-xen get busy --json >/results/busy.json
hyperperiod-xen get sleep --json >/results/sleep.json
alive busy:0 busy:1 sleep
ok hyperperiod-xen set busy --vcpu 1 --best-effort
says 'vcpu 1 *best effort' hyperperiod-xen get busy --vcpu 1
ok hyperperiod-xen set busy --vcpu 1 --period 20ms --budget 5ms --priority 9
alive busy:1
