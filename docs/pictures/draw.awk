# SPDX-License-Identifier: GPL-2.0-only
#
# draw.awk - make SVG of a drawing (NAME.picture) or of what a terminal showed (NAME.txt). It needs
# svg.awk.

function words(x, y, text)
{
	print "<text x=\"" x "\" y=\"" y "\" text-anchor=\"middle\">" escaped(text) "</text>"
}

# rest N - the words of the line from the Nth on.
function rest(n,   text)
{
	text = $n
	while (n++ < NF)
		text = text " " $n
	return text
}

function rectangle(class)
{
	print "<rect class=\"" class "\" x=\"" $2 "\" y=\"" $3 "\" width=\"" $4 "\" height=\"" \
		$5 "\" rx=\"6\"/>"
}

FNR == 1 {
	drawing = FILENAME ~ /\.picture$/
}
drawing && /^#|^$/ { next }
drawing && $1 == "size" {
	head($2, $3, "13px sans-serif")
	print "<defs><marker id=\"tip\" markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" refY=\"4\"" \
		" orient=\"auto\"><path class=\"tip\" d=\"M0,1 L7,4 L0,7 Z\"/></marker></defs>"
}
drawing && $1 == "box" {
	rectangle("box")
	lines = split(rest(6), line, "|")
	for (i = 1; i <= lines; i++)
		words($2 + $4 / 2, $3 + $5 / 2 + 5 + 16 * (i - (lines + 1) / 2), line[i])
}
drawing && $1 == "lane" {
	rectangle("lane")
	print "<text x=\"" $2 + 10 "\" y=\"" $3 + 22 "\">" escaped(rest(6)) "</text>"
}
drawing && $1 == "arrow" {
	print "<path marker-end=\"url(#tip)\" d=\"M" $2 "," $3 " L" $4 "," $5 "\"/>"
}
drawing && $1 == "line" {
	print "<path stroke-dasharray=\"5 5\" d=\"M" $2 "," $3 " L" $4 "," $5 "\"/>"
}
drawing && $1 == "text" {
	words($2, $3, rest(4))
}

# A screen: 80 columns, of which each is 8.43 pixels wide at this size.
!drawing { row[FNR] = $0; rows = FNR }
END {
	if (!drawing) {
		head(710, 18 * rows + 22, "14px ui-monospace, Menlo, Consolas, monospace")
		print "<rect class=\"page\" width=\"100%\" height=\"100%\" rx=\"6\"/>"
		for (i = 1; i <= rows; i++)
			print "<text x=\"16\" y=\"" 18 * i + 8 "\">" escaped(row[i]) "</text>"
	}
	print "</svg>"
}
