# SPDX-License-Identifier: BSD-2-Clause
# What the scenarios are written with. A scenario runs in a shell with -e: the first command that
# fails ends it, and its output says which.

# What is done so many times, as 'rounds' says, finds more the more often it is done.
rounds=$(seq "$(cat rounds)")

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
  # shellcheck disable=SC2086 # none, or one option
  ok xl create ${guest_flags-} -q "/tmp/$guest_name.cfg"
}

# in_pool POOL NAME VCPUS WORDS...: a guest in a pool of ours from its first instruction on.
in_pool() {
  in_pool_name=$1
  shift
  guest_flags=-p
  guest "$@"
  guest_flags=
  ok hyperperiod-xen move "$1" "$in_pool_name"
  ok xl unpause "$1"
}

# moved NAME POOL: moves a guest that runs. Without our series Xen 4.20 may crash of it, as
# docs/xen/toolstack.md tells.
moved() {
  ok hyperperiod-xen move "$1" "$2"
}

# How far each of these vcpus, NAME:VCPU or NAME, has come, by the last lines that their guests
# printed: a line for each. One look at all of them: a process takes a tenth of a second here.
progress() {
  progress_of=$*
  for vcpu in "$@"; do
    shift
    set -- "$@" "/var/log/xen/guest-${vcpu%:*}.log"
  done
  tail -v -n 12 "$@" | awk -v vcpus="$progress_of" '
    $1 == "==>" { guest = $2 }
    $1 == "seen" { got[guest, $2] = $4 " " $7 }
    END {
      count = split(vcpus, names, " ")
      for (each = 1; each <= count; each++) {
        split(names[each] ":0", part, ":")
        print names[each], got["/var/log/xen/guest-" part[1] ".log", "vcpu=" part[2]]
      }
    }'
}

# Waits until all of these vcpus have got on: their time (spin) or their jobs (sleep, storm) grew.
alive() {
  progress "$@" >/tmp/was
  alive_tries=0
  until [ "$(progress "$@" | grep -c -v -F -x -f /tmp/was)" -eq $# ]; do
    alive_tries=$((alive_tries + 1))
    [ "$alive_tries" -lt 200 ] || fail "no progress of all: $(cat /tmp/was)"
    usleep 50000
  done
}

free_memory() {
  xl info | sed -n 's/^free_memory *: //p'
}
