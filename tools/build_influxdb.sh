#!/usr/bin/env bash
# Builds InfluxDB 2 from its published Go module, its Rust half (libflux) included, into the cache:
#   ${HEADWALL_CACHE:-~/.cache/headwall}/influxdb-2.8.0/influxd
# Does nothing when it is there; with --is-built it only says by its exit code whether it is. No web UI: its assets are not part of the module.
#
# Built on Debian 12 with Go 1.26.8 and Rust 1.95 in 4 min 20 s on two cores from empty caches (about 3 GB of
# caches on the way, 93 MB the result). 2.10.0 wants a newer Go than that; 1.8.10 builds but has no tokens or buckets.
set -euo pipefail

version=2.8.0 # also in tools/headwall_sim/parts.py
target=${HEADWALL_CACHE:-$HOME/.cache/headwall}/influxdb-$version

say() { printf 'influxdb: %s\n' "$*"; }

if [ "${1:-}" = --is-built ]; then
  [ -x "$target/influxd" ]
  exit
fi
if [ -x "$target/influxd" ]; then
  say "$target/influxd is there already"
  exit 0
fi

missing=()
command -v go > /dev/null || missing+=("go 1.24 or newer (https://go.dev/dl; Debian 12's golang-go is too old)")
command -v cargo > /dev/null || missing+=("cargo (https://rustup.rs; Debian 12's is too old)")
command -v clang > /dev/null || missing+=("clang (apt-get install clang)")
command -v pkg-config > /dev/null || missing+=("pkg-config (apt-get install pkg-config)")
if [ ${#missing[@]} -gt 0 ]; then
  {
    say "cannot be built here, since these are not on the PATH:"
    printf '  - %s\n' "${missing[@]}"
    say "or put an influxd $version of your own on the PATH or at $target/influxd"
  } >&2
  exit 1
fi

started=$SECONDS
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin"
cd "$work"
say "building $version into $target: about 5 minutes on two cores, and 3 GB of Go and Rust caches"

# Go refuses to install a module whose go.mod replaces another by its version alone; a module of our own that
# requires it must repeat the replacement, for the one dependency that has no home any more.
say "1/4 fetching the modules"
cat > go.mod << 'MOD'
module headwall/influxdb

go 1.24.0

replace github.com/nats-io/nats-streaming-server v0.11.2 => github.com/influxdata/nats-streaming-server v0.11.3-0.20201112040610-c277f7560803
MOD
go get -tool "github.com/influxdata/influxdb/v2/cmd/influxd@v$version" > get.log 2>&1 || {
  cat get.log >&2
  say "the modules could not be fetched (see above); is proxy.golang.org reachable?" >&2
  exit 1
}

# The Go half links against libflux through pkg-config; influxdata's own pkg-config builds libflux when it is
# asked for "flux" and hands every other question to the system's.
say "2/4 building the pkg-config that builds libflux"
GOBIN=$work/bin go install github.com/influxdata/pkg-config@v0.2.14

# libflux names an old toolchain and turns warnings into errors; newer compilers have new warnings. So: take the
# toolchain that is here, and cap the lints by a wrapper, because cargo is given --target and then keeps RUSTFLAGS
# from the parts that it builds for the host.
printf '#!/bin/sh\nexec "$@" --cap-lints warn\n' > bin/rustc-capped
chmod +x bin/rustc-capped
if command -v rustup > /dev/null; then
  RUSTUP_TOOLCHAIN=$(cd / && rustup show active-toolchain | cut -d' ' -f1)
  export RUSTUP_TOOLCHAIN
fi

say "3/4 compiling libflux and influxd (no output for some minutes)"
mkdir -p "$target"
PATH=$work/bin:$PATH PKG_CONFIG=$work/bin/pkg-config RUSTC_WRAPPER=$work/bin/rustc-capped \
  go build -tags sqlite_foreign_keys,sqlite_json \
  -ldflags "-s -w -X main.version=v$version -X main.commit=module -X main.date=unknown" \
  -o "$work/influxd" github.com/influxdata/influxdb/v2/cmd/influxd

say "4/4 trying it"
"$work/influxd" version
mv "$work/influxd" "$target/influxd" # last, so that a broken build leaves nothing behind
say "built in $((SECONDS - started)) s: $target/influxd"
