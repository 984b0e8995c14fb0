# SPDX-License-Identifier: GPL-2.0-only
#
# svg.awk - functions of draw.awk and chart.awk. The colours follow the reader's light or dark
# scheme.

function escaped(text)
{
	gsub(/&/, "\\&amp;", text)
	gsub(/</, "\\&lt;", text)
	gsub(/>/, "\\&gt;", text)
	return text
}

function head(width, height, font)
{
	print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " width " " height \
		"\" width=\"" width "\" height=\"" height "\" xml:space=\"preserve\">"
	# Not in one piece: `reuse lint` would read a tag with a wrong licence here.
	print "<!-- SPDX-" "License-Identifier: GPL-2.0-only -->"
	print "<style>"
	print "text { font: " font "; fill: #1f2328; white-space: pre }"
	print "rect, path { stroke: #57606a; fill: none }"
	print ".box { fill: #ddf4ff } .page { fill: #f6f8fa; stroke: none } .tip { fill: #57606a }"
	print "@media (prefers-color-scheme: dark) {"
	print "text { fill: #e6edf3 } rect, path { stroke: #8b949e }"
	print ".box { fill: #0c2d6b } .page { fill: #161b22; stroke: none } .tip { fill: #8b949e }"
	print "}"
	print "</style>"
}
