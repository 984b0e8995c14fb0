#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# memcached.t [--update] - hold the dialogues of tests/serve with unstable's memcached, and compare the first reply
# of each dialogue that is not the dialogue's with the list memcached.differs. The dialogues have the replies of
# Debian 12's memcached. So a reply that a new release changes fails, and so does one that it changes back.
# --update writes the list.
#
# Takes three minutes, in which it waits for replies that do not come.
set -u
unset CDPATH

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/hbctl/tap.sh
. "$here/../hbctl/tap.sh"
list=$here/memcached.differs
built=/source/.cache/build/newest

# differing - print "DIALOGUE: FIRST DIFFERENCE" for each failed line of TAP. Lines of a file may move, and
# versions of entries depend on what was stored before.
differing() {
	awk '/^# .*txt: / {
			sub(/^.*txt: (line [0-9]+: )?(expected that line, )?/, "")
			difference = $0
			sub(/ cas=[0-9]+/, " cas=N", difference)
		}
		/^ok / { difference = "" }
		/^not ok / { sub(/^not ok [0-9]+ - /, ""); print $0 ": " difference; difference = "" }'
}

# version - print the version of the installed package.
version() {
	# shellcheck disable=SC2016 # dpkg-query's format
	"$here/enter.sh" dpkg-query -W -f 'memcached ${source:Upstream-Version}\n' memcached
}

"$here/enter.sh" make -s -C tests -o needs O=$built $built/serve/dialogue >"$temporary/log" 2>&1
result "the program that holds dialogues builds without a warning" "$(cat "$temporary/log")"
ENTER_PATH=$built/serve "$here/enter.sh" tests/serve/dialogues.t memcached >"$temporary/tap" 2>&1
{
	version
	differing <"$temporary/tap"
} >"$temporary/found"
grep '^#' "$list" | cat - "$temporary/found" >"$temporary/list"
[ "${1-}" != --update ] || cp "$temporary/list" "$list"
result "memcached holds more than a hundred dialogues" \
	"$([ "$(grep -c '^ok ' "$temporary/tap")" -gt 100 ] || tail -n 20 "$temporary/tap")"
result "its replies differ from the dialogues as memcached.differs says" "$(diff "$list" "$temporary/list")"
finish
