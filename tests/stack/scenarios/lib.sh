# SPDX-License-Identifier: BSD-2-Clause
# What the scenarios are written with. A scenario runs in a shell with -e: the first command that
# fails ends it, and its output says which.

# A command that must succeed. Says itself, and what it printed.
ok() {
  echo "+ $*"
  "$@"
}

# refused CODE TEXT COMMAND...: must end with this exit code and say this.
refused() {
  refused_code=$1
  refused_text=$2
  shift 2
  echo "+ $* (refused: $refused_code, $refused_text)"
  refused_got=0
  "$@" >/tmp/refused 2>&1 || refused_got=$?
  cat /tmp/refused
  [ "$refused_got" -eq "$refused_code" ] || fail "exit code $refused_got"
  grep -q -e "$refused_text" /tmp/refused || fail "another message"
}

# says TEXT COMMAND...: must succeed and say this (a basic regular expression).
says() {
  says_text=$1
  shift
  echo "+ $* (says: $says_text)"
  "$@" >/tmp/says
  cat /tmp/says
  grep -q -e "$says_text" /tmp/says || fail "does not say '$says_text'"
}

fail() {
  echo "FAILED: $*"
  exit 1
}

# guest NAME VCPUS WORDS...: creates a guest in Pool-0. VCPUS are those that it has; vcpus=N among
# the words says how many of them run.
guest() {
  guest_name=$1
  guest_vcpus=$2
  shift 2
  cat >"/tmp/$guest_name.cfg" <<CFG
name = "$guest_name"
type = "pv"
kernel = "/session/guest.elf"
memory = 8
vcpus = $guest_vcpus
tsc_mode = "native"
extra = "$*"
CFG
  ok xl create -q "/tmp/$guest_name.cfg"
}

# The last line that a guest printed about a vcpu, and a number in it.
seen() {
  grep "^seen vcpu=$2 " "/var/log/xen/guest-$1.log" 2>/dev/null | tail -n 1 \
    | tr ' ' '\n' | sed -n "s/^$3=//p"
}

# Waits until a guest's vcpu has got on: its time (spin) or its jobs (sleep, storm) have grown.
alive() {
  alive_was=$(seen "$1" "${2:-0}" got_ns)+$(seen "$1" "${2:-0}" jobs)
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
    usleep 200000
    if [ "$(seen "$1" "${2:-0}" got_ns)+$(seen "$1" "${2:-0}" jobs)" != "$alive_was" ]; then
      return 0
    fi
  done
  fail "vcpu ${2:-0} of guest $1 makes no progress"
}

free_memory() {
  xl info | sed -n 's/^free_memory *: //p'
}
