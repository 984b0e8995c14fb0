#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# redis_go.sh SOURCE PROGRAM - build a program of Go, with the compiler and the clients of Redis that unstable has. It
# is linked statically, for any root directory.
#
# cache.sh keeps the compiler; to get newer releases, remove it. The first call takes two minutes. Needs root.

# shellcheck source=tests/kept.sh
. "$(dirname "$0")/../kept.sh"

clients=golang-github-redis-go-redis-dev,golang-github-throttled-throttled-dev

# build GOCACHE SOURCE PROGRAM - all below the root directory. No module is fetched: Debian has them in GOPATH.
build() {
	chroot "$root" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/tmp GOROOT=/usr/lib/go GOCACHE="$1" GOPATH=/usr/share/gocode \
		GO111MODULE=off CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-trimpath go build -o "$3" "$2"
}

bootstrap() {
	root=$work/root
	extract sid "dash,coreutils,golang-go,$clients" "$root"
	rm -rf "$root/usr/share/doc" "$root/usr/share/man"
	(cd "$root" && gather)
	# Programs import it with its version.
	ln -s . "$root/usr/share/gocode/src/github.com/redis/go-redis/v9"
	mkdir -p "$root/tmp/go" "$root/tmp/.config/go/telemetry" "$root/dev"
	echo off >"$root/tmp/.config/go/telemetry/mode"
	: >"$root/dev/null"
	cat >"$root/tmp/go/all.go" <<-END
		package main

		import (
			_ "github.com/redis/go-redis/v9"
			_ "github.com/throttled/throttled/store/goredisstore"
			_ "github.com/throttled/throttled"
		)

		func main() {}
	END
	# The objects of what programs use.
	build /var/cache/go /tmp/go/all.go /tmp/go/all
}

[ $# = 2 ] || fail "usage: redis_go.sh SOURCE PROGRAM"
[ "$(id -u)" = 0 ] || fail "only root can make and use a root directory"
keep newest redis-go "a directory with the compiler of Go" bootstrap
root=$kept/root
[ -z "$(find "$1" -newer "$2" 2>/dev/null || echo none)" ] || {
	work=$(mktemp -d "$root/tmp/build.XXXXXX")
	cp "$1" "$work"
	build /var/cache/go "/tmp/${work##*/}/${1##*/}" "/tmp/${work##*/}/program"
	mv "$work/program" "$2"
}
