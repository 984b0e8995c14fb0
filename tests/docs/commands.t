#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# commands.t - the commands of hbctl that README.md and docs/ show, and the EXAMPLES of the manual
# page. Runs in a guest.
#
# shown.awk finds the commands. A command of a Markdown document begins with "$ ". It has to
# succeed, and where the document shows output, it has to print this. The commands of a document
# run one after the other, in one shell and on the belts that the ones before have made. An example
# of the manual page has to succeed, each in a shell of its own.
set -u
unset CDPATH
# shellcheck disable=SC3040 # the shell of the guest is busybox
set -o pipefail	# a command at the beginning of a pipe has to succeed as well

tests=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tests/hbctl/tap.sh
. "$tests/hbctl/tap.sh"

tab=$(printf '\t')
payload=$(cd "$tests/.." && pwd)
manual=$payload/docs/hbctl.1

# shown FILE - print the commands of a file that run in a guest.
shown() {
	awk -v kinds="guest manual" -f "$tests/docs/shown.awk" "$1"
}

# give NAME COMMAND - make a program that an example calls, in a directory of PATH.
give() {
	printf '#!/bin/sh\n%s\n' "$2" >"$temporary/bin/$1"
	chmod +x "$temporary/bin/$1"
}

# expired - expire an entry of the belt "sessions"; true if the event has been handled.
# shellcheck disable=SC2317 # called by at_last
expired() {
	hbctl -b sessions put ended 1 && hbctl -b sessions expire ended
	[ -s handled ] || [ -s sessions.log ]
}

# follow - end a command that reads events, once it has handled one.
follow() {
	at_last expired
	# shellcheck disable=SC2046 # numbers
	kill $(pidof hbctl)
}

# example COMMAND - run an example of the manual page.
example() (
	case $1 in
	*--follow*)
		rm -f handled sessions.log
		follow >"$temporary/follow" 2>&1 &
		;;
	esac
	# The shell of the guest has no coprocesses.
	case $1 in
	*coproc*) bash -c "$1" ;;
	*) eval "$1" ;;
	esac
	# shellcheck disable=SC2319 # the status of the example
	status=$?
	wait
	exit $status
)

# check COMMAND - runs it, and prints how it differs from what is in $temporary/expected.
check() {
	case $file in
	hbctl.1) example "$1" >"$temporary/printed" 2>&1 </dev/null ;;
	*) eval "$1" >"$temporary/printed" 2>&1 </dev/null ;;
	esac
	status=$?
	[ $status = 0 ] || echo "expected status 0, found $status: $(cat "$temporary/printed")"
	[ ! -s "$temporary/expected" ] || diff -U 1 "$temporary/expected" "$temporary/printed"
}

# end_command - runs the command that has been read, if there is one.
end_command() {
	[ "$command" ] || return
	check "$command" >"$temporary/verdict"
	result "$file:$line: $(echo "$command" | head -n 1)" "$(cat "$temporary/verdict")"
}

# run_shown FILE - run the commands of a file, and destroy the belts that these have made.
run_shown() {
	file=${1##*/} command=''
	cd "$temporary/work" || exit 1
	shown "$1" >"$temporary/shown"
	while IFS="$tab" read -r mark text <&7; do
		case $mark in
		+) command="$command
$text" ;;
		=) echo "$text" >>"$temporary/expected" ;;
		*)
			end_command
			line=${text%%"$tab"*} command=${text#*"$tab"}
			: >"$temporary/expected"
			;;
		esac
	done 7<"$temporary/shown"
	end_command
	for belt in $(hbctl belts | awk 'NR > 1 && $1 != "default" { print $1 }'); do
		hbctl destroy "$belt"
	done
}

mkdir -p /run "$temporary/bin" "$temporary/work/data" /var/lib/prometheus/node-exporter
PATH=$temporary/bin:$PATH:/usr/bin
printf '#!/bin/sh\necho the report\n' >"$temporary/work/make-report"
chmod +x "$temporary/work/make-report"
# Where the commands of docs/tutorial.md put the program that they compile.
cp "$payload/visit" /tmp/visit
[ -d /sys/kernel/tracing/events ] || mount -t tracefs tracefs /sys/kernel/tracing

shown=0
for path in "$payload"/docs/*.md "$manual"; do
	shown=$((shown + $(shown "$path" | grep -c "^[gm]")))
done
result "README.md shows at least 10 commands" \
	"$([ "$(shown "$payload/docs/README.md" | grep -c "^guest")" -ge 10 ] || echo "found fewer")"
for path in "$payload"/docs/*.md; do
	run_shown "$path"
	hbctl clear
done

result "the EXAMPLES of hbctl.1 are at least 10" \
	"$([ "$(shown "$manual" | grep -c "^manual")" -ge 10 ] || echo "found fewer")"
give ask_for_weather 'echo rain'
# shellcheck disable=SC2016 # the program expands it
give reload 'echo "$1" >reloaded'
give make_token 'echo 51f0c2'
echo hunter2 >/run/password
give make_report 'echo made >>report'
give make_backup 'echo made >>backup'
give edit_invoice 'echo edited >>invoice'
give end_session "echo \"\$1\" >>'$temporary/work/handled'"
# shellcheck disable=SC2016 # the program expands it
printf '#!/bin/sh\necho "$HASHBELT_KEY" >>handled\n' >"$temporary/work/session-ended"
chmod +x "$temporary/work/session-ended"
# Variables and entries that the examples expect.
export user=alice job=7
hbctl put result:7 42
hbctl put counter 41
hbctl put config fast
hbctl put tmp/1 a
hbctl put tmp/2 b
run_shown "$manual"
result "each shown command is run" "$([ $count = $((shown + 2)) ] || echo "$((count - 2)) of $shown")"
is "the example that changes a value has added 1" 0 "$(printf 'counter\t42')" '' hbctl wait counter
is "the example that watches the configuration has reloaded it" 0 fast '' \
	cat "$temporary/work/reloaded"
is "the example that removes keys has left none" 0 '' '' hbctl keys tmp/
is "the example that exports counters has made hashbelt.prom" 0 \
	/var/lib/prometheus/node-exporter/hashbelt.prom '' \
	find /var/lib/prometheus/node-exporter -type f
hbctl clear
finish
