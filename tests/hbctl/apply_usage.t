#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# apply_usage.t - the files of hbctl apply without a device: the format, and errors in it.
set -u
unset CDPATH

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/tap.sh"

no=/nonexistent/hashbelt
conf=$temporary/a.conf

# right NAME TEXT - apply of a file with TEXT, in which printf(1) replaces escapes, finds no error
# in it
right() {
	printf '%b' "$2" >"$conf"
	is "apply: $1" 3 '' 'there is no device *' hbctl -D "$no" apply "$conf"
}

# wrong NAME LINE MESSAGE TEXT - the same, with an error in that line
wrong() {
	printf '%b' "$4" >"$conf"
	is "apply: $1" 2 '' "$conf:$2: apply: $3 (see 'hbctl help apply')" \
		hbctl -D "$no" apply "$conf"
}

right 'an empty file is right' ''
right 'a belt without settings is right' '[a]\n'
right 'a last line without a newline is right' '[a]\nttl = 5m'
right 'a byte order mark does not count' '\0357\0273\0277[a]\nttl = 5m\n'
right 'comments and empty lines are right' '# one\n; two\n\n[a]\n  # three\nttl = 5m ; four\n'
right 'blanks at both ends of lines do not count' ' [a] \n\tttl\t=  5m \r\n  grace=1m\n'
right 'a colon stands for the equals sign' '[a]\nttl: 5m\n'
right 'all settings are right together' '[a]
ttl = 1m
grace = 90s
buckets = 7
policy = updating
refresh-on-get = no
on-put = keep
on-expire = notify
report = expired,removed
consumers = owner
max-entries = 5
max-bytes = 64k
max-events = none
when-full = evict
pinned = yes
wipe = no
mode = 0660
group = 0
save = yes
'
right 'save = no is right' '[a]\nsave = no\n'
right 'a name of 63 bytes is right' "[$(text 63)]\n"
right 'a name of 63 escaped bytes is right' "[$(printf '\\\\x6b%.0s' $(seq 63))]\n"
right 'a name with blanks, brackets and a semicolon is right' '[ a] ;[b ]\n'
right 'a line of 198 bytes is right' "[a]\nmode = $(printf '%0191d' 600)\n"
right 'a comment of any length is right' "# $(text 5000)\n"

n="a belt's name has 1 to 63 bytes, without '/' and control characters"
wrong 'an empty name is an error' 1 "$n" '[]\n'
wrong 'a name of 64 bytes is an error' 2 "$n" "\n[$(text 64)]\n"
wrong 'a name with a slash is an error' 1 "$n" '[a/b]\n'
wrong 'a name with an escaped newline is an error' 1 "$n" '[a\\nb]\n'
wrong 'a name with an escaped NUL byte is an error' 1 "$n" '[a\\x00]\n'
wrong 'an unknown escape in a name is an error' 1 \
	"in the belt's name a backslash begins none of *" '[a\\q]\n'
wrong 'a name without the second bracket is an error' 1 "'\\[a' does not end in ]" '[a\n'
wrong 'a bracket alone is an error' 1 "'\\[' does not end in ]" '[\n'
wrong 'a comment behind a name is an error' 1 "'\\[a] ; b' does not end in ]" '[a] ; b\n'
wrong 'a belt that stands there twice is an error' 3 "belt 'a' is in $conf:1 already" \
	'[a]\n[b]\n[a]\n'
wrong 'a setting before the first belt is an error' 1 "'ttl' stands before the first \\[BELT]" \
	'ttl = 5m\n[a]\n'
wrong 'an unknown setting is told the nearest one' 3 \
	"there is no setting 'max-byte': did you mean 'max-bytes'?" '[a]\nttl = 5m\nmax-byte = 1\n'
wrong 'an unknown setting that is like no other is an error' 2 "there is no setting 'colour'" \
	'[a]\ncolour = red\n'
wrong 'save is neither yes nor no' 2 "'maybe' is neither 'yes' nor 'no'" '[a]\nsave = maybe\n'
wrong 'save given twice is an error' 3 "'save' is given twice for belt 'a'" '[a]\nsave = no\nsave = no\n'
wrong 'save before the first belt is an error' 1 "'save' stands before the first \\[BELT]" 'save = yes\n'
wrong 'an unknown setting is told save' 2 "there is no setting 'safe': did you mean 'save'?" '[a]\nsafe = yes\n'
wrong 'a setting with dashes is an error' 2 "there is no setting '--ttl'" '[a]\n--ttl = 5m\n'
wrong 'a setting that is given twice is an error' 4 "'ttl' is given twice for belt 'a'" \
	'[a]\nttl = 5m\ngrace = 1m\nttl = 5m\n'
wrong 'a wrong value is an error in its own line' 3 \
	"--ttl: 'soon' is not a duration as 250ms, 30s or 1h30m" '[a]\nbuckets = 5\nttl = soon\nmode = 9\n'
wrong 'a setting without a value is an error' 2 "--pinned: '' is neither 'yes' nor 'no'" \
	'[a]\npinned =\n'
wrong 'a name alone is an error' 2 "'pinned' is neither \\[BELT], nor NAME = VALUE, nor a # comment" \
	'[a]\npinned\n'
wrong 'a value alone is an error' 2 "'= 5' is neither \\[BELT], nor NAME = VALUE, *" '[a]\n= 5\n'
wrong 'an equals sign in a comment is an error' 2 'this is no NAME = VALUE' '[a]\nttl ;= 5m\n'
wrong 'a comment with # behind a value is part of the value' 2 "--ttl: '5m # x' is not *" \
	'[a]\nttl = 5m # x\n'
wrong 'an indented line does not continue the value before it' 3 \
	"'evicted' is neither \\[BELT], nor *" '[a]\nreport = expired\n\tevicted\n'
wrong 'a line of 199 bytes is an error' 2 'a line has at most 198 bytes' \
	"[a]\nmode = $(printf '%0192d' 600)\n"
wrong 'a NUL byte is an error' 2 'there is a NUL byte' '[a]\nttl = 5m\0000\n'

{ echo '[a]' && printf '#' && text 4202496; } >"$conf"
is 'apply: a comment without an end is an error' 2 '' "$conf:2: apply: the line has more than *" \
	hbctl -D "$no" apply "$conf"
is 'apply of a file that cannot be read exits with 4' 4 '' 'cannot read /proc/self/mem: *' \
	hbctl -D "$no" apply /proc/self/mem

# Files and directories
mkdir "$temporary/etc"
is 'apply of an empty directory finds no error' 3 '' 'there is no device *' \
	hbctl -D "$no" apply "$temporary/etc"
echo '[a]' >"$temporary/etc/1.conf"
echo 'wrong' >"$temporary/etc/2.conf.old"
echo 'wrong' >"$temporary/etc/.3.conf"
is 'apply of a directory reads only files *.conf' 3 '' 'there is no device *' \
	hbctl -D "$no" apply "$temporary/etc"
echo '[a]' >"$temporary/etc/2.conf"
is 'apply finds that a belt stands in two files of a directory' 2 '' \
	"$temporary/etc/2.conf:1: apply: belt 'a' is in $temporary/etc/1.conf:1 already *" \
	hbctl -D "$no" apply "$temporary/etc"
is 'apply finds that a belt stands in two files' 2 '' \
	"$temporary/etc/2.conf:1: apply: belt 'a' is in $temporary/etc/1.conf:1 already *" \
	hbctl -D "$no" apply "$temporary/etc/1.conf" "$temporary/etc/2.conf"
is 'apply of a missing file exits with 4' 4 '' 'cannot open /nonexistent: *' \
	hbctl -D "$no" apply /nonexistent
input=$temporary/etc/2.conf.old
is 'apply - reads stdin' 2 '' "stdin:1: apply: 'wrong' is neither *" hbctl -D "$no" apply -
is 'apply --json prints an error in a file as JSON' 2 '' "stdin:1: apply: 'wrong' is neither *" \
	hbctl -D "$no" apply --json -
input=/dev/null
is 'an apply of a batch in stdin takes no lines from there' 2 '' \
	'stdin:1: apply: standard input has the commands of the batch: name a file *' \
	sh -c "printf 'apply -\nversion\n' | hbctl -D $no batch"

# The example that is installed, and the manual
top=$(cd "$(dirname "$0")/../.." && pwd)
sed 's/^group = hashbelt/group = 0/' "$top/tools/example.conf" >"$conf"
is 'apply finds no error in tools/example.conf' 3 '' 'there is no device *' \
	hbctl -D "$no" apply "$conf"
sed -n '/^\.Bd/,/^\.Ed/{/^\./d; s/^group = hashbelt/group = 0/; p}' "$top/docs/hbctl-apply.5" >"$conf"
is 'apply finds no error in the example of hbctl-apply.5' 3 '' 'there is no device *' \
	hbctl -D "$no" apply "$conf"
finish
