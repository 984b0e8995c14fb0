#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# parsers.sh hbctl|request|connection|redis [OPTION]... - random inputs for the parsers of hbctl, for the
# parser of requests or the connections of hbserve, or for those by the protocol of Redis. The options are libFuzzer's: -runs=N or
# -max_total_time=SECONDS, -seed=N. Without a seed, a run begins with the inputs with which earlier runs
# reached new code. An input that fails is kept, and can be run again:
#
#	.cache/build/fuzz/hbctl_fuzz .cache/fuzz/crash-...
#
# The first inputs for hbserve are the requests of its dialogues.
set -eu
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
top=$(cd "$tests/.." && pwd)
cache=$top/.cache/fuzz
fuzzer=$1
shift
log=$cache/$fuzzer.log
kept=$cache/kept-$fuzzer
seeds=$cache/seeds-$fuzzer
case " $* " in
*" -seed="*)
	kept=$cache/fresh-$fuzzer
	rm -rf "$kept"
	;;
esac
mkdir -p "$kept"
make -s -C "$tests" parsers hbctl
rm -rf "$seeds"
case $fuzzer in
hbctl)
	"$tests/fuzz/seeds.sh" "$top/.cache/build/payload/hbctl" "$seeds"
	set -- "$@" -max_len=4096 -dict="$seeds.words"
	holds="hbctl parses each random input right or refuses it"
	;;
*)
	mkdir "$seeds"
	dialogues=dialogues
	[ "$fuzzer" != redis ] || dialogues=redis
	"$tests/serve/dialogue.py" --requests "$seeds" "$tests/serve/$dialogues"/*.txt
	# A longer line without an end is closed.
	set -- "$@" -max_len=2000
	holds="hbserve parses each random input right or refuses it"
	[ "$fuzzer" = request ] || holds="the replies of hbserve do not depend on how it reads random requests"
	;;
esac

echo 1..2
status=0
# hbctl exits without freeing all memory, which is no leak.
(cd "$cache" && ASAN_OPTIONS=detect_leaks=0 "$top/.cache/build/fuzz/${fuzzer}_fuzz" \
	"$@" -timeout=60 -rss_limit_mb=2048 -artifact_prefix="$cache/" "$kept" "$seeds") \
	>"$log" 2>&1 || status=$?
if [ $status = 0 ]; then
	echo "ok 1 - $holds"
else
	echo "# tests/fuzz/parsers.sh: expected status 0 of ${fuzzer}_fuzz, found $status:"
	tail -n 40 "$log" | sed 's/[^[:print:][:space:]]/?/g; s/^/# /'
	echo "not ok 1 - $holds"
fi
# A fuzzer that did not run finds nothing, either. A slow machine makes 100 runs in a second.
runs=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$log")
seconds=$(printf '%s\n' "$@" | sed -n 's/^-max_total_time=//p')
wanted=$(printf '%s\n' "$@" | sed -n 's/^-runs=//p')
wanted=${wanted:-$((${seconds:-60} * 100))}
[ "${runs:-0}" -ge "$wanted" ] || { status=1 && printf 'not '; }
echo "ok 2 - ${fuzzer}_fuzz runs with at least $wanted random inputs: ${runs:-0}"
exit $status
