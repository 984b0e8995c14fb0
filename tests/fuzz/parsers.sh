#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# parsers.sh [OPTION]... - the parsers of hbctl with random inputs. The options are libFuzzer's:
# -runs=N or -max_total_time=SECONDS, -seed=N. Without a seed, a run begins with the inputs with
# which earlier runs reached new code. An input that fails is kept, and can be run again:
#
#	.cache/build/fuzz/hbctl_fuzz .cache/fuzz/crash-...
set -eu
unset CDPATH

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
# hbctl exits without freeing all memory, which is no leak.
(cd "$cache" && ASAN_OPTIONS=detect_leaks=0 "$top/.cache/build/fuzz/hbctl_fuzz" \
	"$@" -max_len=4096 -timeout=60 -rss_limit_mb=2048 \
	-dict="$cache/seeds.words" -artifact_prefix="$cache/" "$kept" seeds) \
	>"$log" 2>&1 || status=$?
if [ $status = 0 ]; then
	echo "ok 1 - hbctl parses each random input right or refuses it"
else
	echo "# tests/fuzz/parsers.sh: expected status 0 of hbctl_fuzz, found $status:"
	tail -n 40 "$log" | sed 's/[^[:print:][:space:]]/?/g; s/^/# /'
	echo "not ok 1 - hbctl parses each random input right or refuses it"
fi
# A fuzzer that did not run finds nothing, either. A slow machine makes 100 runs in a second.
runs=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$log")
seconds=$(printf '%s\n' "$@" | sed -n 's/^-max_total_time=//p')
wanted=$(printf '%s\n' "$@" | sed -n 's/^-runs=//p')
wanted=${wanted:-$((${seconds:-60} * 100))}
[ "${runs:-0}" -ge "$wanted" ] || { status=1 && printf 'not '; }
echo "ok 2 - hbctl is run with at least $wanted random inputs: ${runs:-0}"
exit $status
