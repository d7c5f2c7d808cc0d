# SPDX-License-Identifier: BSD-2-Clause
# What is wrong is refused with a message, and changes nothing.
hyperperiod-xen get busy >/tmp/before
refused 2 'no command' hyperperiod-xen
refused 2 "no command 'frobnicate'" hyperperiod-xen frobnicate
refused 2 'at most the period, 10ms' hyperperiod-xen set busy --period 10ms --budget 11ms
refused 2 'whole microseconds' hyperperiod-xen set busy --period 10ms --budget 0us
refused 2 'whole microseconds' hyperperiod-xen set busy --period 10ms --budget 1500ns
refused 2 'at least 17us' hyperperiod-xen set busy --period 16us --budget 9us
refused 2 'at least 5us' hyperperiod-xen set busy --period 10ms --budget 4us
refused 2 "found '10'; allowed: a whole number with a unit" \
  hyperperiod-xen set busy --period 10 --budget 1ms
refused 2 'no --budget' hyperperiod-xen set busy --period 10ms
refused 2 '--best-effort with a server' \
  hyperperiod-xen set busy --best-effort --period 10ms --budget 1ms
refused 2 '--weight: found 0' hyperperiod-xen set busy --best-effort --weight 0
refused 2 'a number from 0 to 65535' hyperperiod-xen set busy --best-effort --weight 65536
refused 2 '--weight with a server' \
  hyperperiod-xen set busy --period 10ms --budget 1ms --weight 3
refused 2 'a number from 0 to 16777215' \
  hyperperiod-xen set busy --period 10ms --budget 1ms --priority 16777216
refused 2 "allowed: 0 to 1, those of domain 'busy'" \
  hyperperiod-xen set busy --vcpu 2 --period 10ms --budget 1ms
refused 2 "no domain 'nobody'" hyperperiod-xen get nobody
refused 2 "no domain '4711'" hyperperiod-xen set 4711 --period 10ms --budget 1ms
refused 2 "no pool 'nothing'" hyperperiod-xen pool-info nothing
refused 2 'has scheduler' hyperperiod-xen policy Pool-0 crps
refused 2 'dom0 stays in Pool-0' hyperperiod-xen move 0 real-time
refused 2 "found 'round-robin'" hyperperiod-xen policy real-time round-robin
refused 2 "found 'cbs+edf'" hyperperiod-xen policy real-time cbs+edf
refused 2 'is not defined for each pcpu by itself' \
  hyperperiod-xen policy real-time periodic+fp+extra
refused 2 'stays so as long as it has pcpus' \
  hyperperiod-xen policy real-time deferrable+edf+none+global
refused 2 'pcpu 1 is in another pool' hyperperiod-xen pool-create x --policy ptps --cpus 1
refused 2 'pcpu 77 is in another pool, or there is none' \
  hyperperiod-xen pool-create x --policy ptps --cpus 77
refused 2 'Pool-0 needs one pcpu' hyperperiod-xen pool-create x --policy ptps --cpus 0,3
refused 2 "found '3-'" hyperperiod-xen pool-create x --policy ptps --cpus 3-
refused 2 'is not defined for all pcpus' \
  hyperperiod-xen pool-create x --policy crps --scope global --cpus 3
refused 2 'found no --cpus' hyperperiod-xen pool-create x --policy crps
refused 2 'at most the period' hyperperiod-xen spare real-time --period 1ms --budget 2ms
refused 1 'has domains' hyperperiod-xen pool-destroy real-time
refused 2 'a pcpu of the pool' hyperperiod-xen trace real-time --cpu 3
refused 2 "which this command does not know" hyperperiod-xen pool-info real-time --loud
hyperperiod-xen get busy >/tmp/after
ok cmp /tmp/before /tmp/after
says '^Pool-0 *2 ' xl cpupool-list
alive busy:0
