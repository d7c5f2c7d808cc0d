# SPDX-License-Identifier: BSD-2-Clause
# Stock tools go on working beside our pool, on domains in it, and on a pool of their own.
says '^busy ' xl list
says '^sleep .* [12] ' xl vcpu-list
says '^Pool-0 ' xl cpupool-list -c
says 'credit2' xl info
ok xl sched-credit2
ok xentop -b -i 1
ok xl pause busy
ok xl unpause busy
alive busy:0
ok xl vcpu-pin busy 0 1
says '^busy *[0-9]* *0 *1 ' xl vcpu-list busy
ok xl vcpu-pin busy 0 all
ok xl cpupool-cpu-remove Pool-0 3
ok xl cpupool-create name=\"edf\" sched=\"rtds\" cpus=[\"3\"]
guest_flags=-p
guest other 1 workload=sleep period=20000 work=1000 report=100
guest_flags=
ok xl cpupool-migrate other edf
ok xl unpause other
ok xl sched-rtds -d other -v all -p 10000 -b 3000 -e 0
says '^other .* 10000 *3000' xl sched-rtds -d other -v all
alive other
moved other real-time
alive other
ok xl cpupool-migrate other edf
alive other
ok xl destroy other
# The last pcpu leaves a pool of RTDS, of which Xen 4.20 panics without our series.
ok xl cpupool-destroy edf
ok xl cpupool-cpu-add Pool-0 3
alive busy:0 sleep
