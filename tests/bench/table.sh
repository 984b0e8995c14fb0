#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# table.sh FILE TABLE - print a table, as Markdown, of the lines that figures.sh has printed.
#
#	ratios			of the scenario peers, by peer and operation
#	instructions		of those that docs/performance.md compares, by peer and operation
#	times			of the scenario times, by peer and operation: the cheapest slices, as
#				multiples of the floor. Slices in which other work took the processor do not count
#	sizes			of the scenario sizes, by operation and size
#	serve			of the scenario serve, by operation and peer
#	served			the part of the server in these
#	clients			of the scenario serve, by the test of a client, and peer; and the bytes of a
#				connection
#	python			of the scenario python, by peer and operation, as multiples of the floor
#	expiry...		of the scenario of that name, by peer and some of the percentiles
#	native			of the scenario native, by number of keys and contestant, in nanoseconds
set -eu

"$(dirname "$0")/../need.sh" jq

# pick FILTER - print "ROW<tab>COLUMN<tab>CELL" for each line of the file.
pick() {
	jq -r "$1 | @tsv" "$file"
}

# pivot CORNER - make a table of such lines, with rows and columns in the order of their coming.
pivot() {
	awk -F '\t' -v corner="$1" '
		!($1 in row) { row[$1]; rows[++n] = $1 }
		!($2 in column) { column[$2]; columns[++m] = $2 }
		{ cell[$1, $2] = $3 }
		END {
			head = "| " corner " |"
			line = "|---|"
			for (c = 1; c <= m; c++) {
				head = head " " columns[c] " |"
				line = line "---:|"
			}
			print head
			print line
			for (r = 1; r <= n; r++) {
				line = "| " rows[r] " |"
				for (c = 1; c <= m; c++)
					line = line " " ((rows[r], columns[c]) in cell ? \
						cell[rows[r], columns[c]] : "-") " |"
				print line
			}
		}'
}

# of SCENARIO FIGURE - the filter for such lines.
of() {
	echo "select(.scenario == \"$1\" and .figure == \"$2\")"
}

# in_places N - the filter that rounds a number to N decimal places, and keeps zeros at its end.
in_places() {
	echo "(. * pow(10; $1) | round | tostring | (\"0\" * ($1 + 1 - length) // \"\") + . |
		if $1 == 0 then . else .[:-$1] + \".\" + .[-$1:] end)"
}

# idle_bytes - print the bytes of an idle connection to each server.
idle_bytes() {
	pick "$(of serve idle) | [\"bytes of an idle connection\", .peer, (.bytes | $(in_places 0))]"
}

file=$1
case $2 in
instructions)
	pick "$(of peers cost) | select((.operation | IN(\"touch\", \"remove\", \"count\") | not) and
		(.peer | IN(\"bpf-hash-malloc\", \"bpf-lru\") | not)) |
		[.peer, .operation, (.cost | $(in_places 0))]" | pivot instructions
	;;
ratios) pick "$(of peers cost) | [.peer, .operation, (.ratio | $(in_places 2))]" | pivot ratio ;;
times)
	pick "$(of times cost) | [.peer, .operation, (.cost / .floor | $(in_places 1))]" |
		pivot ratio
	;;
sizes)
	size='"\(.entries), \(.buckets)"'
	{
		pick "$(of sizes memory) |
			[\"bytes for an entry of 80\", $size, (.bytes | $(in_places 1))]"
		pick "$(of sizes cost) | [.operation, $size, (.ratio | $(in_places 2))]"
	} | pivot "entries, buckets"
	;;
serve)
	{
		pick "$(of serve cost) | [.operation, .peer, (.cost | $(in_places 0))]"
		idle_bytes
	} | pivot instructions
	;;
served)
	pick "$(of serve cost) | select(.server) | [.operation, .peer, (.server | $(in_places 0))]" | pivot instructions
	;;
clients)
	{
		pick "$(of serve client) |
			[\"\(.unit) of a key, \(.operation)\", .peer, (.cost | $(in_places 0))]"
		idle_bytes
	} | pivot server
	;;
python)
	pick "$(of python cost) | select(.operation | IN(\"get\", \"get from window\", \"set\", \"get, 64 a call\",
		\"get, 64 a call, same keys\")) | [.peer, .operation, (.ratio | $(in_places 2))]" | pivot ratio
	;;
expiry*)
	pick "$(of "$2" latency) | select(.percentile | IN(50, 99, 100)) | [.peer + \" \" + .phase, \"\(.percentile) %\",
		(.ns / 1000 | $(in_places 1))]" | pivot "within, us"
	;;
native)
	pick "$(of native cost) | [.entries, .peer, (.cost | $(in_places 0))]" | pivot "keys"
	;;
*)
	echo "table.sh: no such table: $2" >&2
	exit 2
	;;
esac
