# SPDX-License-Identifier: GPL-2.0-only
#
# prometheus.awk - check that a text is in Prometheus' exposition format, by stricter rules
# than those of parsers: each family has one HELP and then one TYPE line, and all its samples
# follow them directly; counters, and only counters, are named _total and are whole numbers;
# no sample occurs twice. A histogram has buckets in the order of their bounds, each of which counts
# what the ones before it count; the last one is +Inf, and the _count that follows it is the same
# number. Prints every error; the exit status is 0 if there is no error and at least one sample.

function wrong(what) {
	printf "line %d, '%s': %s\n", NR, $0, what
	failed = 1
}

function is_name(name) {
	return name ~ /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
}

# A bucket of the histogram that is open.
function look_at_bucket(le, number) {
	if (open != "" && (open == "+Inf" || (le != "+Inf" && le + 0 <= open + 0) || number < sum))
		wrong("not behind a smaller bucket")
	if (le !~ /^([0-9]+(\.[0-9]+)?|\+Inf)$/)
		wrong("a bound that is no number")
	open = le
	sum = number
}

# The number that ends it.
function look_at_count(number) {
	if (open != "+Inf" || number != sum)
		wrong("not the number of the bucket +Inf")
	open = ""
}

/^# HELP / {
	if (!is_name($3) || NF < 4)
		wrong("no name, or no help")
	if ($3 in helps)
		wrong("a second HELP")
	helps[$3]
	family = ""
	next
}

/^# TYPE / {
	if (!($3 in helps) || family != "")
		wrong("not behind its HELP")
	if ($3 in types)
		wrong("a second TYPE")
	if (NF != 4 || $4 !~ /^(counter|gauge|histogram)$/)
		wrong("a type that is neither counter nor gauge nor histogram")
	if (open != "")
		wrong("no _count behind the buckets before it")
	if (($4 == "counter") != ($3 ~ /_total$/))
		wrong("counters end with _total, and nothing else does")
	types[$3] = $4
	family = $3
	next
}

/^#/ || /^$/ {
	wrong("neither HELP nor TYPE nor a sample")
	next
}

{
	rest = $0
	match(rest, /^[a-zA-Z_:][a-zA-Z0-9_:]*/)
	name = substr(rest, 1, RLENGTH)
	type = types[family]
	if (type == "histogram" && sub(/_(bucket|count)$/, "", name))
		part = substr($0, length(name) + 1, 6)
	else
		part = ""
	if (name == "" || name != family || (type == "histogram" && part == ""))
		wrong("not behind its TYPE")
	rest = substr(rest, RLENGTH + 1)
	labelled = sub(/^\{/, ",", rest)
	split("", labels)
	while (match(rest, /^,[a-zA-Z_][a-zA-Z0-9_]*="([^"\\]|\\["\\n])*"/)) {
		label = substr(rest, 2, index(rest, "=") - 2)
		if (label in labels)
			wrong("a label twice")
		labels[label] = substr(rest, length(label) + 4, RLENGTH - length(label) - 4)
		rest = substr(rest, RLENGTH + 1)
	}
	series = substr($0, 1, length($0) - length(rest))
	if (series in samples)
		wrong("this sample was there before")
	samples[series]
	if (labelled && !sub(/^}/, "", rest))
		wrong("the labels")
	if (type ~ /counter|histogram/ && rest !~ /^ [0-9]+$/)
		wrong("a value that is no whole number")
	if (rest !~ /^ ([0-9]+(\.[0-9]+)?|\+Inf)$/)
		wrong("the value")
	if (part == "_bucke")
		look_at_bucket(labels["le"], rest + 0)
	if (part == "_count")
		look_at_count(rest + 0)
	count++
}

END {
	if (open != "")
		wrong("no _count behind the buckets before it")
	if (!count)
		print "there is no sample"
	exit failed || !count
}
