# SPDX-License-Identifier: GPL-2.0-only
#
# chart.awk - make SVG of lines "PANEL<tab>SERIES<tab>X<tab>Y". It needs svg.awk.
#
#	x	"log", or "percentile": X is one, and the axis has as much room for the last
#		percents as for all before
#	y	"log", or "linear": from 0 on
#	x_label, y_label
#
# Each value of X in the data is a tick. Panels stand side by side, and share the axes. A series has
# its name at its end. It is an error if the labels of two ticks overlap.

function log10(value)
{
	return log(value) / log(10)
}

# The number of the colour of a series: peers have the same in all pictures.
function class_of(name)
{
	if (!(name in class))
		class[name] = ++classes
	return (class[name] - 1) % colour_count + 1
}

function colours(light, dark, 	name)
{
	name = "c" ++colour_count
	print "." name " { stroke: " light " } .fill-" name " { fill: " light "; stroke: none }"
	dark_colours = dark_colours "." name " { stroke: " dark " } .fill-" name " { fill: " dark \
		" }\n"
}

function styles()
{
	print "<style>"
	print ".axis { stroke: #57606a } .grid { stroke: #d8dee4 }"
	print ".line { stroke-width: 2 } .limit { stroke-dasharray: 5 4 }"
	colours("#0969da", "#58a6ff")
	colours("#1a7f37", "#3fb950")
	colours("#bc4c00", "#f0883e")
	colours("#cf222e", "#ff7b72")
	colours("#8250df", "#bc8cff")
	colours("#57606a", "#8b949e")
	colours("#9a6700", "#d29922")
	print "@media (prefers-color-scheme: dark) {"
	print ".axis { stroke: #8b949e } .grid { stroke: #30363d }"
	printf "%s}\n</style>\n", dark_colours
}

# 1000000 as 1,000,000.
function grouped(number, 	text)
{
	text = sprintf("%.0f", number)
	while (match(text, /[0-9][0-9][0-9][0-9]+/) && RLENGTH > 3)
		text = substr(text, 1, RSTART + RLENGTH - 4) "," substr(text, RSTART + RLENGTH - 3)
	return text
}

function x_of(value)
{
	if (x == "percentile")
		return value >= 100 ? 5 : -log10(1 - value / 100)
	return log10(value)
}

function x_text(value)
{
	if (x == "percentile")
		return value >= 100 ? "all" : value " %"
	return grouped(value)
}

# Half the width of the label of a tick, as wide as common fonts make it, in pixels.
function half(value, 	text)
{
	text = x_text(value)
	return (7.7 * length(text) - 3.8 * gsub(/[,. ]/, "", text)) / 2
}

# Print neighbouring ticks whose labels overlap, and return their number.
function find_overlaps(	i, found)
{
	for (i = 1; i < values; i++)
		if (left(1, value[i + 1]) - half(value[i + 1]) < left(1, value[i]) + half(value[i])) {
			print "chart.awk: labels overlap: " x_text(value[i]) ", " \
				x_text(value[i + 1]) >"/dev/stderr"
			found++
		}
	return found + 0
}

function y_of(value)
{
	return y == "log" ? log10(value) : value
}

# Pixels from the left and from the top, in panel P.
function left(p, value)
{
	return margin + (p - 1) * (width + gap) + \
		width * (x_of(value) - x_least) / (x_most - x_least)
}

function top(value)
{
	return head_room + height * (y_most - y_of(value)) / (y_most - y_least)
}

# The ticks of the vertical axis: 1, 2 and 5 times powers of ten, or at most six equal steps.
function find_ticks(	power, i, step)
{
	if (y == "log") {
		y_least = log10(least) - 0.05
		y_most = log10(most) + 0.05
		for (power = int(y_least) - 1; power <= y_most; power++)
			for (i = 1; i <= 5; i += i == 1 ? 1 : 3)
				if ((i == 1 || y_most - y_least < 2.2) && \
				    log10(i * 10 ^ power) >= y_least && \
				    log10(i * 10 ^ power) <= y_most)
					tick[++ticks] = i * 10 ^ power
		return
	}
	y_least = 0
	y_most = most * 1.05
	step = 10 ^ int(log10(most))
	while (most / step < 3)
		step /= 2
	for (i = 0; i * step <= y_most; i++)
		tick[++ticks] = i * step
}

function draw_axes(p, 	i, at)
{
	at = margin + (p - 1) * (width + gap)
	for (i = 1; i <= ticks; i++) {
		printf "<path class=\"%s\" d=\"M%.1f,%.1fh%d\"/>\n", "grid", at, top(tick[i]), width
		if (p == 1)
			printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", \
				at - 8, top(tick[i]) + 4, grouped_or_small(tick[i])
	}
	for (i = 1; i <= values; i++) {
		printf "<path class=\"axis\" d=\"M%.1f,%.1fv5\"/>\n", left(p, value[i]), \
			head_room + height
		printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n", \
			left(p, value[i]), head_room + height + 19, x_text(value[i])
	}
	printf "<path class=\"axis\" d=\"M%.1f,%.1fh%d\"/>\n", at, head_room + height, width
	printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n", at + width / 2, \
		head_room + height + 38, escaped(x_label)
	printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n", at + width / 2, \
		head_room - 10, escaped(panel[p])
}

function grouped_or_small(number)
{
	return number < 10 && number != int(number) ? number "" : grouped(number)
}

function draw_series(p, s, 	i, at, path)
{
	for (i = 1; i <= values; i++) {
		if (!((p, s, value[i]) in point))
			continue
		at = sprintf("%.1f,%.1f", left(p, value[i]), top(point[p, s, value[i]]))
		path = path (path == "" ? "M" : "L") at
		sub(/,/, "\" cy=\"", at)
		printf "<circle class=\"fill-c%d\" cx=\"%s\" r=\"3\"/>\n", class_of(series[s]), at
		end[s] = top(point[p, s, value[i]])
		end_left[s] = left(p, value[i])
	}
	if (path != "")
		printf "<path class=\"line c%d%s\" d=\"%s\"/>\n", class_of(series[s]), \
			series[s] in limit ? " limit" : "", path
}

# Names of series stand at their ends, and are moved apart until none overlaps another.
function draw_names(	s, i, j, order, swap)
{
	for (s = 1; s <= all; s++) {
		order[s] = s
		for (i = s; i > 1 && end[order[i - 1]] > end[order[i]]; i--) {
			swap = order[i]
			order[i] = order[i - 1]
			order[i - 1] = swap
		}
	}
	for (j = 1; j <= 50; j++)
		for (i = 2; i <= all; i++)
			if (end[order[i]] - end[order[i - 1]] < 15) {
				swap = (15 - end[order[i]] + end[order[i - 1]]) / 2
				end[order[i]] += swap
				end[order[i - 1]] -= swap
			}
	for (s = 1; s <= all; s++)
		printf "<circle class=\"fill-c%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>" \
			"<text x=\"%.1f\" y=\"%.1f\">%s</text>\n", class_of(series[s]), \
			names_left, end[s], names_left + 8, end[s] + 4, escaped(series[s])
}

BEGIN {
	FS = "\t"
	classes = split("hashbelt bpf-hash memcached redis keyring limit bpf-lru", name, " ")
	for (i = 1; i <= classes; i++)
		class[name[i]] = i
	limit["key and value"]
	class["key and value"] = class["limit"]
	margin = 70; gap = 48; head_room = 44; height = 260
}
!($1 in panels) { panel[++panel_count] = $1; panels[$1] = panel_count }
!($2 in number) { series[++all] = $2; number[$2] = all }
!($3 in known) { known[$3]; value[++values] = $3 + 0 }
y == "log" && $4 <= 0 {
	print "chart.awk: not on a logarithmic axis: " $0 >"/dev/stderr"
	failed = 1
	exit
}
{
	point[panels[$1], number[$2], $3 + 0] = $4
	if (!least || $4 + 0 < least)
		least = $4 + 0
	if ($4 + 0 > most)
		most = $4 + 0
}
END {
	if (!values)
		print "chart.awk: no data" >"/dev/stderr"
	if (!values || failed)
		exit 1
	# Values of X in their order.
	for (i = 2; i <= values; i++)
		for (j = i; j > 1 && value[j - 1] > value[j]; j--) {
			swap = value[j]
			value[j] = value[j - 1]
			value[j - 1] = swap
		}
	width = panel_count > 1 ? 300 : 540
	x_least = x_of(value[1])
	x_most = x_of(value[values])
	# Room for the last label of a panel beside the first one of the next.
	if (gap < half(value[values]) + half(value[1]) + 8)
		gap = half(value[values]) + half(value[1]) + 8
	if (find_overlaps())
		exit 1
	find_ticks()
	names_left = margin + panel_count * (width + gap) - gap + 16
	head(names_left + 110, head_room + height + 48, "12px sans-serif")
	styles()
	printf "<text x=\"6\" y=\"14\">%s</text>\n", escaped(y_label)
	for (p = 1; p <= panel_count; p++) {
		draw_axes(p)
		for (s = 1; s <= all; s++)
			draw_series(p, s)
	}
	draw_names()
	print "</svg>"
}
