#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# parsers.sh [OPTION]... - what hbctl reads of its user, with inputs that nobody would think
# of. The options are libFuzzer's: -runs=N or -max_total_time=SECONDS, -seed=N. Without a seed
# a run goes on from what the ones before found to reach something new. An input that breaks
# something is kept:
#
#	.cache/build/fuzz/hbctl_fuzz .cache/fuzz/crash-...
set -eu

tests=$(cd "$(dirname "$0")/.." && pwd)
top=$(cd "$tests/.." && pwd)
cache=$top/.cache/fuzz
log=$cache/parsers.log
kept=$cache/kept
case " $* " in
*" -seed="*)
	kept=$cache/fresh
	rm -rf "$kept"
	;;
esac
mkdir -p "$kept"
make -s -C "$tests" parsers hbctl
"$tests/fuzz/seeds.sh" "$top/.cache/build/payload/hbctl" "$cache/seeds"

echo 1..2
status=0
# The program ends where it would clean up: that is no leak.
(cd "$cache" && ASAN_OPTIONS=detect_leaks=0 "$top/.cache/build/fuzz/hbctl_fuzz" \
	"$@" -max_len=4096 -timeout=60 -rss_limit_mb=2048 \
	-dict="$cache/seeds.words" -artifact_prefix="$cache/" "$kept" seeds) \
	>"$log" 2>&1 || status=$?
if [ $status = 0 ]; then
	echo "ok 1 - whatever hbctl is given, it reads it right or says that it cannot"
else
	echo "# tests/fuzz/parsers.sh: expected status 0 of hbctl_fuzz, found $status:"
	tail -n 40 "$log" | sed 's/[^[:print:][:space:]]/?/g; s/^/# /'
	echo "not ok 1 - an input breaks hbctl"
fi
# One that has not been going at all breaks nothing either. So many are done in a second of a
# slow machine.
runs=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$log")
seconds=$(printf '%s\n' "$@" | sed -n 's/^-max_total_time=//p')
wanted=$(printf '%s\n' "$@" | sed -n 's/^-runs=//p')
[ "${runs:-0}" -ge "${wanted:-$((${seconds:-60} * 100))}" ] || { status=1 && printf 'not '; }
echo "ok 2 - ${runs:-0} inputs were tried"
exit $status
