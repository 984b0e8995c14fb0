# SPDX-License-Identifier: GPL-2.0-only
#
# prometheus.awk - check that a text is in Prometheus' exposition format, by stricter rules
# than those of parsers: each family has one HELP and then one TYPE line, and all its samples
# follow them directly; counters, and only counters, are named _total and are whole numbers;
# no sample occurs twice. Prints every error; the exit status is 0 if there is no error and at
# least one sample.

function wrong(what) {
	printf "line %d, '%s': %s\n", NR, $0, what
	failed = 1
}

function is_name(name) {
	return name ~ /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
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
	if (NF != 4 || $4 !~ /^(counter|gauge)$/)
		wrong("a type that is neither counter nor gauge")
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
	if (name == "" || name != family)
		wrong("not behind its TYPE")
	rest = substr(rest, RLENGTH + 1)
	sub(/^\{/, ",", rest) || wrong("no labels")
	split("", labels)
	while (match(rest, /^,[a-zA-Z_][a-zA-Z0-9_]*="([^"\\]|\\["\\n])*"/)) {
		label = substr(rest, 2, index(rest, "=") - 2)
		if (label in labels)
			wrong("a label twice")
		labels[label]
		rest = substr(rest, RLENGTH + 1)
	}
	series = substr($0, 1, length($0) - length(rest))
	if (series in samples)
		wrong("this sample was there before")
	samples[series]
	if (types[name] == "counter" && rest !~ /^} [0-9]+$/)
		wrong("the labels, or a value that is no whole number")
	if (rest !~ /^} ([0-9]+(\.[0-9]+)?|\+Inf)$/)
		wrong("the labels, or the value")
	count++
}

END {
	if (!count)
		print "there is no sample"
	exit failed || !count
}
