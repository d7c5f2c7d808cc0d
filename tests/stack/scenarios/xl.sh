# SPDX-License-Identifier: BSD-2-Clause
# xl and xenalyze of the series, beside Debian's: pools with a name for their scheduler, guests that
# are created in them, servers that xl sets and hyperperiod-xen sees, and the other way round.
new_xl() {
  LD_LIBRARY_PATH=/session/libs /session/libs/xl "$@"
}

ok xl cpupool-cpu-remove Pool-0 1
ok xl cpupool-cpu-remove Pool-0 2
cat >/tmp/rt.cfg <<CFG
name = "rt"
sched = "hyperperiod"
cpus = [1, 2]
CFG
ok new_xl cpupool-create /tmp/rt.cfg
says '^rt *2 *hyperperiod ' new_xl cpupool-list
ok hyperperiod-xen policy rt ptps

# in_rt NAME VCPUS LINES...: created in the pool by xl, with more lines in its configuration.
in_rt() {
  cat >"/tmp/$1.cfg" <<CFG
name = "$1"
type = "pv"
kernel = "/session/guest.elf"
memory = 8
vcpus = $2
pool = "rt"
extra = "workload=sleep vcpus=$2 period=20000 work=1000 report=100"
$3
CFG
  ok new_xl create -q "/tmp/$1.cfg"
}
in_rt plain 2 ''
alive plain:0 plain:1
says 'vcpu 1 *best effort' hyperperiod-xen get plain
says '^plain *[0-9]* *1 *- *- *- *- *1$' new_xl sched-hyperperiod -d plain
in_rt served 1 'period = 20000
budget = 5000
priority = 7
extratime = 1'
alive served
says 'vcpu 0 *5ms in 20ms, priority 7, extra time' hyperperiod-xen get served
says '^served *[0-9]* *0 *20000 *5000 *7 *yes *-$' new_xl sched-hyperperiod -d served

# One vcpu, all that are there, and what later ones get; what is not said stays.
ok new_xl sched-hyperperiod -d plain -p 10000 -b 2000
says 'vcpu 0 *2ms in 10ms, priority 10000$' hyperperiod-xen get plain
ok new_xl sched-hyperperiod -d plain -v 1 -p 40000 -b 4000 -r 3
ok new_xl sched-hyperperiod -d plain -v 1 -b 8000
says 'vcpu 1 *8ms in 40ms, priority 3$' hyperperiod-xen get plain
ok new_xl sched-hyperperiod -d plain -v 1 -e 1
says '^plain *[0-9]* *1 *40000 *8000 *3 *yes *-$' new_xl sched-hyperperiod -d plain -v 1
ok new_xl sched-hyperperiod -d plain -v all -b 3000
says 'vcpu 0 *3ms in 10ms, priority 10000$' hyperperiod-xen get plain
says 'vcpu 1 *3ms in 40ms, priority 3, extra time$' hyperperiod-xen get plain
ok new_xl sched-hyperperiod -d plain -v 0 -p 0 -w 5
says 'vcpu 0 *best effort, weight 5$' hyperperiod-xen get plain
ok hyperperiod-xen set plain --vcpu 0 --period 50ms --budget 1ms --priority 16777215
says '^plain *[0-9]* *0 *50000 *1000 *16777215 *no *-$' new_xl sched-hyperperiod -c rt
says '^Cpupool rt: sched=hyperperiod' new_xl sched-hyperperiod

# What cannot be is refused, and changes nothing.
new_xl sched-hyperperiod >/tmp/before
refused 1 'valid are budgets from 1 to the period' \
  new_xl sched-hyperperiod -d served -p 1000 -b 2000
refused 1 'Setting domain sched hyperperiod' new_xl sched-hyperperiod -d served -p 2 -b 1
refused 1 'A weight is for vcpus without a period' new_xl sched-hyperperiod -d served -w 3
refused 1 'Priority of 16777216' new_xl sched-hyperperiod -d served -r 16777216
refused 1 'there is no budget' new_xl sched-hyperperiod -d served -p 0 -b 100
refused 1 'Invalid VCPU 1' new_xl sched-hyperperiod -d served -v 1 -b 100
refused 1 'Invalid period: 5ms' new_xl sched-hyperperiod -d served -p 5ms -b 1
refused 1 'Must specify a domain' new_xl sched-hyperperiod -p 10000
refused 1 'parameter getting not supported for this scheduler' new_xl sched-hyperperiod -d 0
new_xl sched-hyperperiod >/tmp/after
ok cmp /tmp/before /tmp/after

# The scheduler's records in Xen's trace buffer, by name.
xentrace -D -e 0x0002f000 -T 2 /tmp/trace >/tmp/xentrace 2>&1
/session/libs/xenalyze --dump-all /tmp/trace >/tmp/dump 2>/dev/null
for name in run idle arrive depart; do
  says "hyperperiod:$name " grep -m 1 "hyperperiod:$name " /tmp/dump
done
if grep 'hyperperiod:unknown' /tmp/dump; then
  fail 'a kind without a name'
fi

ok new_xl destroy plain
ok new_xl destroy served
ok new_xl cpupool-destroy rt
ok xl cpupool-cpu-add Pool-0 1
ok xl cpupool-cpu-add Pool-0 2
says '^Pool-0 *4 *credit2 ' xl cpupool-list
