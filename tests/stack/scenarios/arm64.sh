# SPDX-License-Identifier: BSD-2-Clause
# A dom0 on arm64: a pool is made, a guest is created by stock xl, moves in, gets a server and what
# that promises, and all of it goes again.
says '^virt_caps.*hvm' xl info
ok hyperperiod-xen pool-create real-time --policy ptps --cpus 1
says '^real-time *1 ' xl cpupool-list
ok hyperperiod-xen doctor
cat >/tmp/busy.cfg <<CFG
name = "busy"
kernel = "/session/executive.bin"
memory = 16
extra = "workload=spin domain=1 vcpus=1 memory=6291456"
CFG
ok xl create -p -q /tmp/busy.cfg
refused 2 'another scheduler' hyperperiod-xen get busy
# From here on its server pays, work or no work.
cut -d ' ' -f 1 /proc/uptime >/results/begin
ok hyperperiod-xen move busy real-time
ok hyperperiod-xen set busy --period 10ms --budget 4ms
says 'vcpu 0 *4ms in 10ms' hyperperiod-xen get busy
ok xl unpause busy
sleep 3
says '^busy *[0-9]* *0 *1 ' xl vcpu-list busy
hyperperiod-xen stats real-time --json >/results/stats.json
cut -d ' ' -f 1 /proc/uptime >/results/end
ok xl destroy busy
ok hyperperiod-xen pool-destroy real-time
says '^Pool-0 *2 ' xl cpupool-list
