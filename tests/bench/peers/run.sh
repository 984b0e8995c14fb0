#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh [WORKLOAD]... - play workloads on belts, memcached and Redis with the same memory, in a
# guest, and print shares of gets that miss, and memory in use. tests/bench/cache/workload.c has
# the workloads; by default those of docs/performance.md.
#
#	PEERS=sid	beside the servers of Debian's unstable, not those of this machine's release
#	MEGABYTES=N	memory of each cache (4)
#	REQUESTS=N	requests of a workload, about so many (10000)
#	PACE=N		least microseconds for a request, in which all caches handle it (1500)
set -eu
unset CDPATH

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
payload=$top/.cache/build/payload-cache${PEERS:+-$PEERS}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

make -s -C "$top/tests" cache PEERS="${PEERS-}"
[ $# != 0 ] ||
	set -- zipf-0.8 zipf-1.0 zipf-1.0-4 zipf-1.2 scan scan-4 shift shift-4 cluster-12

# The lines of the guest go to a file. Lines on stderr show how far it is.
{
	"$top/tests/vm/run.sh" --memory 1024 --silence 1800 "$payload" sh ./guest.sh \
		"${MEGABYTES:-4}" "${REQUESTS:-10000}" "${PACE:-1500}" "$@" || echo "failed $?"
} | tee "$work/output" | while read -r kind name first second; do
	case $kind in
	trace) echo "playing $name: $first requests of $second keys" ;;
	wall)
		played=$((${played:-0} + 1))
		echo "played $name in $first s: $played of $#"
		;;
	esac
done >&2
if grep '^failed ' "$work/output"; then
	cat "$work/output"
	exit 1
fi

# table KIND TITLES HEADLINE - print the lines of one kind as a table.
table() {
	echo
	echo "$3"
	echo
	awk -v kind="$1" -v titles="$2" '
		($1 == "titles" && $2 == titles && !printed++) || $1 == kind {
			line = "| " ($1 == "titles" ? "workload" : $2) " |"
			for (i = 3; i <= NF; i++)
				line = line " " $i " |"
			print line
			if ($1 == "titles") {
				line = "| --- |"
				for (i = 3; i <= NF; i++)
					line = line " ---: |"
				print line
			}
		}' "$work/output"
}

table misses peers "Share of gets that miss"
table used peers "MiB in use, as the cache counts them, less those of an empty one"
echo
awk '$1 == "trace" { requests[$2] = $3; keys[$2] = $4 }
$1 == "wall" {
	printf "%s: %d requests of %d keys took %d s; lives of servers were wrong by up to %d %%\n",
		$2, requests[$2], keys[$2], $3, $4
}' "$work/output"
grep -v -E '^(titles|trace|misses|used|wall) ' "$work/output" || true
