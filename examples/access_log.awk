# SPDX-License-Identifier: GPL-2.0-only
#
# access_log.awk - prints an artificial web server's log, in Apache's combined format.
#
#	awk -f access_log.awk </dev/null
#
# The log has two days of 600 clients in the address ranges reserved for documentation
# (RFC 5737). A few clients come often, and most come once or twice (Zipf). A client
# reads some pages in a visit. Most pauses between pages are short; some are about as
# long as a session's time-to-live. Lines are sorted by client, not by time. The log is
# always the same: the random numbers are Lehmer's, with Park and Miller's modulus.

function random() {
	state = state * 48271 % 2147483647
	return state / 2147483647
}

function address(client) {
	return nets[client % 3 + 1] (int(client / 3) + 1)
}

function stamp(when, hour) {
	hour = int(when / 3600)
	return sprintf("%02d/Mar/2026:%02d:%02d:%02d +0000", 2 + hour / 24, hour % 24,
		when / 60 % 60, when % 60)
}

function pause() {
	return random() < 0.04 ? 1200 + random() * 1200 : -log(random()) * 120
}

function visit(client, when, path) {
	do {
		path = sprintf("/articles/%d", 1 + int(1 / (random() + 0.01)))
		printf "%s - - [%s] \"GET %s HTTP/1.1\" 200 %d \"-\" \"-\"\n",
			address(client), stamp(when), path, 500 + random() * 20000
		when += pause()
	} while (random() < 0.85 && when < 2 * 86400)
}

END {
	state = 20260302
	split("192.0.2. 198.51.100. 203.0.113.", nets, " ")
	for (client = 0; client < 600; client++)
		for (visits = 1 + int(60 / (client + 1)); visits > 0; visits--)
			visit(client, random() * 2 * 86400)
}
