# SPDX-License-Identifier: BSD-2-Clause
# What is in force is saved, and applying that changes nothing. A file is watched over: the domain
# that it speaks of is created, dies and is created again, and has its servers each time. More than
# a pcpu has is promised to nobody.

# Waits until a command says this.
becomes() {
  becomes_text=$1
  shift
  becomes_tries=0
  until "$@" 2>&1 | grep -q -e "$becomes_text"; do
    becomes_tries=$((becomes_tries + 1))
    [ "$becomes_tries" -lt 400 ] || fail "$* never says '$becomes_text'"
    usleep 50000
  done
}

# later_comes: it is created, paused until it has its servers.
later_comes() {
  guest_flags=-p
  guest later 2 workload=sleep vcpus=2 period=20000 work=1000 report=100
  guest_flags=
  becomes 'vcpu 1 *1ms in 50ms, priority 50000' hyperperiod-xen get later
  says 'vcpu 0 *4ms in 10ms, priority 3' hyperperiod-xen get later
  ok xl unpause later
  alive later:0 later:1
}

ok hyperperiod-xen save /tmp/saved
says 'nothing to change' hyperperiod-xen apply /tmp/saved
ok hyperperiod-xen apply --check /tmp/saved

ok xl cpupool-cpu-remove real-time 2
cat >/tmp/kept.conf <<CONF
version = 1

[pool kept]
policy = crps
cpus = 2

[domain later]
pool = kept
vcpu 0 = 4ms in 10ms, priority 3
others = 1ms in 50ms
CONF
refused 2 "found no domain 'later'" hyperperiod-xen apply /tmp/kept.conf
refused 2 "no pool 'kept'" hyperperiod-xen pool-info kept
hyperperiod-xen apply --watch /tmp/kept.conf >/tmp/watch 2>&1 &
watcher=$!
becomes 'domain later: not there yet' cat /tmp/watch
later_comes
ok xl destroy later
becomes '"domains": \[\]' hyperperiod-xen pool-info kept --json
later_comes
says 'load *42.0 % of pcpu 2' hyperperiod-xen pool-info kept
in_pool kept more 1 workload=sleep period=20000 work=1000 report=100
refused 2 'found 102.0 % of pcpu 2 promised' \
  hyperperiod-xen set more --period 10ms --budget 6ms
ok hyperperiod-xen set more --period 50ms --budget 29ms
says '"load_ppm": 1000000, "overbooked": false' hyperperiod-xen pool-info kept --json
ok hyperperiod-xen set more --period 50ms --budget 30ms --force
refused 1 'load.* *102.0 %\|102.0 % of pcpu 2 promised' hyperperiod-xen doctor
refused 1 'timer_slop *50000 ns' hyperperiod-xen doctor
ok hyperperiod-xen set more --period 50ms --budget 29ms
ok hyperperiod-xen save /tmp/kept.saved
says 'nothing to change' hyperperiod-xen apply /tmp/kept.saved
ok grep -q 'vcpu 0 = 29ms in 50ms, priority 50000' /tmp/kept.saved
alive later:0 more
kill "$watcher"
cat /tmp/watch
ok xl destroy later
ok xl destroy more
ok hyperperiod-xen pool-destroy kept
ok xl cpupool-cpu-remove Pool-0 2
ok xl cpupool-cpu-add real-time 2
alive busy:0
