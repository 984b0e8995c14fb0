#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# An operation costs the same whatever the belt is: with 2 buckets or 65,536, a
# thousand entries or a hundred thousand, one level or several. Counted in instructions, which knows
# nothing of caches and repeats exactly. The bound is 15 percent.
set -u

top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# measure NAME ENTRIES BUCKETS
measure() {
	"$top/tests/vm/run.sh" --count-instructions --memory 1024 \
		"$top/.cache/build/payload" sh -c "sleep 3; insmod hashbelt.ko &&
		./bench --entries $2 --buckets $3 --rounds 400 --unit instructions &&
		rmmod hashbelt" >"$work/$1" || {
		echo "Bail out! the guest failed"
		exit 1
	}
}

measure base 1000 5
measure few 1000 2
measure many 1000 65536
measure large 100000 5

awk -v bound=15 '
/instructions/ {
	name = substr($0, 1, 18)
	sub(/ +$/, "", name)
	cost = $0
	sub(/ instructions.*/, "", cost)
	sub(/.* /, "", cost)
	cost += 0
	file = FILENAME
	sub(/.*\//, "", file)
	if (file == "base") {
		base[name] = cost
		order[++n] = name
	}
	of[file, name] = cost
}
END {
	split("few many large", files, " ")
	print "1.." n + 1
	for (i = 1; i <= n; i++) {
		name = order[i]
		line = base[name]
		good = base[name] > 0
		for (f = 1; f <= 3; f++) {
			cost = of[files[f], name]
			line = line ", " files[f] " " cost
			if (cost > base[name] * (1 + bound / 100) ||
			    cost < base[name] * (1 - bound / 100))
				good = 0
		}
		print "# " name ": " line " instructions"
		if (!good) {
			bad = 1
			print "# tests/bench/cost.t: expected all within " bound " % of the first"
		}
		print (good ? "ok " : "not ok ") i " - " name " costs the same everywhere"
	}
	levels = base["put for a year"] / base["put replace"]
	good = levels > 1 - bound / 100 && levels < 1 + bound / 100
	if (!good) {
		bad = 1
		print "# tests/bench/cost.t: expected a put for a year within " bound \
			" % of one for an hour, found " levels " times that"
	}
	print (good ? "ok " : "not ok ") n + 1 " - a put several levels up costs the same"
	exit bad || !n
}' "$work/base" "$work/few" "$work/many" "$work/large"
