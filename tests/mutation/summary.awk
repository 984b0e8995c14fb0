# SPDX-License-Identifier: GPL-2.0-only
#
# summary.awk [-v share=PERCENT] FS='<tab>' SUITES FS=' ' RECORD - print what a record of run.sh says: for each
# stage how many mutants it finds, of those that it has run on; and how many all stages find, and those that
# "make test" has. Fails if these find less than PERCENT of them. Stages that have not run may find more.
# SUITES is tests/suites: the stages of cases, and most others, have the names of suites.

BEGIN {
	all_stages = stages = split("sparse models near guest kunit device debug", stage, " ")
	for (i = 1; i <= stages; i++)
		listed[stage[i]] = 1
	in_test["near"] = in_test["guest"] = 1	# parts of "kunit" and "device"
}

FNR == NR {
	if ($2 ~ /(^| )test:/)
		in_test[$1] = 1
	next
}

/^#/ || $2 == "compile" || $2 == "equivalent" { next }

{
	mutants++
	tested = found = run = 0
	for (i = 2; i <= NF; i++) {
		if ($i == "-compile")
			continue
		name = $i
		sub(/^-/, "", name)
		if (!(name in listed)) {
			listed[name] = 1
			stage[++stages] = name
		}
		ran[name]++
		run++
		if (name != $i)
			continue
		finds[name]++
		found = 1
		if (name in in_test)
			tested = 1
	}
	all += found
	short += tested
	unfinished += !found && run < all_stages && $1 !~ /^case\//
	if (!found)
		print "# no stage finds " $1
	else if (!tested)
		print "# only stages that make test does not have find " $1
}

END {
	for (i = 1; i <= stages; i++)
		if (stage[i] in ran)
			print "# " stage[i] " finds " finds[stage[i]] + 0 " of " ran[stage[i]]
	print "# of " mutants + 0 " mutants all stages find " all + 0 ", and those of make test " short + 0
	print "# " unfinished + 0 " that no stage has found have not been through all of them"
	exit !all || short * 100 < all * share
}
