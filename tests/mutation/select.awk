# SPDX-License-Identifier: GPL-2.0-only
#
# select.awk -v seed=N [-v only="ID..."] EQUIVALENT LIST - print the mutants of LIST in a random
# order that depends on the seed only, or the named ones in the order of LIST. Each line begins with
# one more column: "equivalent" or "live". A block of EQUIVALENT that matches no mutant of LIST is
# printed with "unknown" in that column.

BEGIN {
	FS = OFS = "\t"
	random = seed % 2147483646 + 1
	for (i = split(only, names, " "); i > 0; i--)
		wanted[names[i]] = 1
}

# A block: "FILE FUNCTION", the line before and the line after, with a minus and a plus, and
# the reason, between empty lines.
FNR == NR {
	if (/^#/ || /^$/)
		next
	if (/^- /) {
		before = substr($0, 3)
	} else if (/^\+ /) {
		equivalent[head OFS before OFS substr($0, 3)] = head
	} else if (/^[^ \t]/) {
		head = $0
		gsub(/ /, OFS, head)
	}
	next
}

{
	split($1, id, "/")
	key = $2 OFS id[2] OFS $5 OFS $6
	known = key in equivalent
	if (known)
		found[key] = 1
	if (only == "" || $1 in wanted)
		line[++lines] = (known ? "equivalent" : "live") OFS $0
}

# Fisher-Yates shuffle, with the generator of Park and Miller: the same on each machine.
END {
	for (i = lines; i > 1 && only == ""; i--) {
		random = random * 16807 % 2147483647
		other = random % i + 1
		text = line[i]
		line[i] = line[other]
		line[other] = text
	}
	for (i = 1; i <= lines; i++)
		print line[i]
	for (key in equivalent)
		if (!(key in found))
			print "unknown", equivalent[key]
}
