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

# How far a vcpu, NAME:VCPU or NAME, has come, by the last line that its guest printed about it.
progress() {
  tail -n 12 "/var/log/xen/guest-${1%:*}.log" | awk -v vcpu="vcpu=$(vcpu_of "$1")" \
    '$1 == "seen" && $2 == vcpu { got = $4 " " $7 } END { print got }'
}

vcpu_of() {
  case $1 in
    *:*) echo "${1#*:}" ;;
    *) echo 0 ;;
  esac
}

# Waits until all of these vcpus have got on: their time (spin) or their jobs (sleep, storm) grew.
alive() {
  : >/tmp/was
  for vcpu in "$@"; do
    echo "$vcpu $(progress "$vcpu")" >>/tmp/was
  done
  alive_tries=0
  while read -r vcpu was; do
    while [ "$(progress "$vcpu")" = "$was" ]; do
      alive_tries=$((alive_tries + 1))
      [ "$alive_tries" -lt 200 ] || fail "vcpu $vcpu makes no progress"
      usleep 50000
    done
  done </tmp/was
}

free_memory() {
  xl info | sed -n 's/^free_memory *: //p'
}
