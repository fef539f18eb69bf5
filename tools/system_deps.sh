#!/usr/bin/env bash
# Brings the real parts that the tests run against: Debian packages, then InfluxDB from source. Starts nothing.
# A part that HEADWALL_HIDE names is left alone, since the tests are to do without it.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'system-deps: %s\n' "$*"; }
hide=${HEADWALL_HIDE:-}
hidden() { [[ ",${hide// /}," == *",$1,"* ]]; }
# Debian keeps servers out of the PATH of ordinary accounts
here() { command -v "$1" > /dev/null || [ -x "/usr/sbin/$1" ]; }

wanted=()
build_influxdb=
want() { # part, package, test that it is here
  if hidden "$1"; then
    say "$1 is hidden by HEADWALL_HIDE, left alone"
  elif eval "$3"; then
    say "$2 is here"
  else
    wanted+=("$2")
  fi
}
want mosquitto mosquitto 'here mosquitto'
want chromium chromium 'here chromium || here google-chrome'
want postgresql postgresql 'compgen -G "/usr/lib/postgresql/*/bin/pg_ctl" > /dev/null || here pg_ctl'
if hidden influxdb; then
  say "influxdb is hidden by HEADWALL_HIDE, left alone"
elif command -v influxd > /dev/null; then
  say "influxd is on the PATH"
elif tools/build_influxdb.sh --is-built; then
  say "influxd is in the cache"
else
  build_influxdb=yes
  for package in clang pkg-config git; do want build $package "here $package"; done
fi

if [ ${#wanted[@]} -gt 0 ]; then
  if ! command -v apt-get > /dev/null; then
    say "no apt-get on this system; install these by its own means and run this again: ${wanted[*]}" >&2
    exit 1
  fi
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo > /dev/null || { say "run as root, or install: ${wanted[*]}" >&2; exit 1; }
    as_root=(sudo)
  fi
  # Packages of servers start them when installed, unless this file says no. One that is there stays as it is.
  policy=/usr/sbin/policy-rc.d
  if [ ! -e $policy ]; then
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee $policy > /dev/null
    "${as_root[@]}" chmod 755 $policy
    trap '"${as_root[@]}" rm -f /usr/sbin/policy-rc.d' EXIT
  fi
  say "installing with apt-get: ${wanted[*]}"
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${wanted[@]}" || {
    say "apt-get could not install ${wanted[*]}; see its message above" >&2
    exit 1
  }
fi

[ -z "$build_influxdb" ] || tools/build_influxdb.sh
say "done; nothing was started. Next: make test"
