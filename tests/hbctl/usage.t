#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# usage.t - what hbctl does without a device: help, usage, completion.
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/tap.sh"

no=/nonexistent/hashbelt
commands="put get touch has rm expire incr wait watch complete keys dump load size clear create set apply export
	destroy belts info stat top events halt resume rotate advance batch bench doctor help completion version"

# operands COMMAND - valid operands
operands() {
	case $1 in
	put) echo key value ;;
	get | touch | has | rm | expire | incr | wait | watch | complete) echo key ;;
	create | destroy) echo belt ;;
	set) echo belt --pinned ;;
	advance) echo 1s ;;
	completion) echo bash ;;
	apply) echo /dev/null ;;
	esac
}

# Help goes to stdout and is no error.
like 'help prints the usage on stdout' 0 'usage: hbctl *' '' hbctl help
cp "$temporary/out" "$temporary/help"
hbctl completion bash >"$temporary/completion"
hbctl completion zsh >"$temporary/_hbctl"
hbctl completion fish >"$temporary/hbctl.fish"
run hbctl --help
file '--help prints what help prints' "$temporary/help"
run hbctl -h
file '-h prints what help prints' "$temporary/help"
for command in $commands; do
	result "help lists $command" \
		"$(grep -q "^  $command " "$temporary/help" || echo missing)"
	like "help $command prints its usage and options" 0 "usage: hbctl *$command: *--device*" \
		'' \
		hbctl help "$command"
	cp "$temporary/out" "$temporary/first"
	run hbctl "$command" --help
	file "$command --help prints what help $command prints" "$temporary/first"
	result "completion knows $command" \
		"$(grep -q " ${command}[ \"]" "$temporary/completion" || echo missing)"
	result "completion for zsh and fish knows $command" \
		"$(grep -q "^	${command})$" "$temporary/_hbctl" || echo 'missing for zsh'
		grep -q " -n 'not __hbctl_command' -a $command -d " "$temporary/hbctl.fish" ||
			echo 'missing for fish')"
done

# Help is the same on each terminal.
{
	cat "$temporary/help"
	sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\).*/\1/p' "$temporary/help" | while read -r command; do
		hbctl help "$command"
	done
} >"$temporary/all"
result 'help of each command is in ASCII, in lines of at most 80 columns' \
	"$([ "$(grep -c '^usage: ' "$temporary/all")" -gt 40 ] || echo 'there are fewer than 40 commands'
	LC_ALL=C grep -nE '.{81}|[^ -~]' "$temporary/all")"
result 'no line of help ends with a blank' "$(grep -n ' $' "$temporary/all")"
run env COLUMNS=40 hbctl help
file 'help does not depend on the width of the terminal' "$temporary/help"

# Columns of tables
for command in belts info stat locks keys events top bench; do
	# The columns stand in the item of the command, or of several, in the section TABLES.
	sed -n '/^\.Sh TABLES/,/^\.Sh JSON/p' "$(dirname "$0")/../../docs/hbctl.1" |
		awk -v command=$command '/^\.It/ { inside = 0; for (i = 3; i <= NF; i++) inside += $i == command }
			inside && /^\.Sy/ { for (i = 2; i <= NF; i++) if ($i ~ /[A-Z]/) print $i }' |
		sort -u >"$temporary/wanted"
	hbctl help $command | sed -n '/^Columns/,/^$/s/^  [* ] \([A-Z][^ ]*\).*/\1/p' | sort >"$temporary/out"
	result "the manual has the columns that help $command prints" "$(same
		[ -s "$temporary/out" ] || echo "no columns")"
done

# Wrong usage of any command
is 'hbctl without a command exits with 2' 2 '' "a command is missing *" hbctl
is 'an unknown command exits with 2' 2 '' "there is no command 'grow' *" hbctl grow
is 'an unknown option before the command exits with 2' 2 '' "there is no option '--foo' *" \
	hbctl --foo
is 'help on an unknown command exits with 2' 2 '' "help: there is no command 'x' *" \
	hbctl help x
for command in $commands; do
	# shellcheck disable=SC2046 # words
	is "$command with an unknown option exits with 2" 2 '' \
		"$command: there is no option '--foo' (see 'hbctl help $command')" \
		hbctl "$command" $(operands "$command") --foo
	case $command in
	put | get | touch | rm | watch | apply) ;;
	*)
		# shellcheck disable=SC2046 # words
		is "$command with an operand too many exits with 2" 2 '' \
			"$command: 'more' is one operand too many *" \
			hbctl "$command" $(operands "$command") $(
				case $command in
				keys | load | batch | info | stat | size | clear | halt | resume | rotate | \
					advance | help | incr) echo help ;;
				wait) seq 2 16 ;;
				esac) more
		;;
	esac
	[ -n "$(operands "$command")" ] || continue
	is "$command without operands exits with 2" 2 '' \
		"$command: an operand is missing: $command *" hbctl "$command"
done
is 'an unknown short option exits with 2' 2 '' "get: there is no option '-x' *" hbctl get k -x
is 'a long option without its argument exits with 2' 2 '' "put: --ttl needs an argument *" \
	hbctl put k v --ttl
is 'a short option without its argument exits with 2' 2 '' "-b needs an argument *" hbctl -b
is 'an argument to an option that takes none exits with 2' 2 '' "size: --json takes no argument *" \
	hbctl size --json=1

# Rights

# powerless COMMAND... - run a command without the capabilities of root.
# shellcheck disable=SC2317 # called by is
powerless() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --securebits +noroot --inh-caps=-all --bounding-set=-all -- "$@"
	else
		"$@"
	fi
}

mkdir "$temporary/closed"
: >"$temporary/device"
chmod 000 "$temporary/closed" "$temporary/device"
is 'a device whose mode refuses the user exits with 3, and the error names its group' 3 '' \
	"no right to open $temporary/device: join its group (ls -l $temporary/device), *" \
	powerless hbctl -D "$temporary/device" get k
is 'a device in a closed directory exits with 3, and the error names directory and security module' 3 '' \
	"no right to open $temporary/closed/device: the mode of a directory or a security module *" \
	powerless hbctl -D "$temporary/closed/device" get k

# Words that are nearly right
is 'an unknown command exits with 2 and is told the nearest one' 2 '' \
	"there is no command 'toch': did you mean 'touch'? (see 'hbctl help')" hbctl toch k
is 'an unknown command with two letters exchanged is told the nearest one' 2 '' \
	"there is no command 'egt': did you mean 'get'? *" hbctl egt k
is 'help on an unknown command is told the nearest one' 2 '' \
	"help: there is no command 'evnts': did you mean 'events'? *" hbctl help evnts
is 'an unknown option exits with 2 and is told the nearest one' 2 '' \
	"put: there is no option '--if-abscent': did you mean '--if-absent'? *" \
	hbctl put k v --if-abscent
is 'an unknown option with an argument is told the nearest one' 2 '' \
	"create: there is no option '--tll=5m': did you mean '--ttl'? *" hbctl create x --tll=5m
is 'a belt as an operand, and another with -b, exits with 2' 2 '' \
	"stat: -b names belt 'a', and the operand belt 'b' *" hbctl -b a stat b
is 'a belt as an operand, and the same with -b, is right usage' 3 '' 'there is no device *' \
	hbctl -D "$no" -b a stat a
is 'advance takes a belt as its second operand' 3 '' 'there is no device *' \
	hbctl -D "$no" advance 1s a
is 'del is another name of rm' 2 '' 'rm: an operand is missing: rm KEY... *' hbctl del
like 'ls is another name of keys' 0 'usage: hbctl \[OPTION]... keys *' '' hbctl ls --help

# Values of options and operands
d="is not a duration as 250ms, 30s or 1h30m *"
b="is not from 1ms to 4398046511104ms (50903d) *"
is 'put --ttl soon exits with 2' 2 '' "put: --ttl: 'soon' $d" hbctl put k v --ttl soon
is 'put --ttl with an unknown unit exits with 2' 2 '' "put: --ttl: '3y' $d" hbctl put k v --ttl 3y
is 'put --ttl 0 exits with 2' 2 '' "put: --ttl: 0 $b" hbctl put k v --ttl 0
is 'put --ttl of 2^42 + 1 ms exits with 2' 2 '' "put: --ttl: 4398046511105ms $b" \
	hbctl put k v --ttl 4398046511105ms
is 'touch --ttl 0s exits with 2' 2 '' "touch: --ttl: 0s $b" hbctl touch k --ttl 0s
is 'touch --ttl keep exits with 2' 2 '' "touch: --ttl: 'keep' $d" hbctl touch k --ttl keep
is 'get --ttl keep exits with 2' 2 '' "get: --ttl: 'keep' $d" hbctl get k --ttl keep
is 'create --ttl never exits with 2' 2 '' "create: --ttl: 'never' $d" \
	hbctl create x --ttl never
is 'create --ttl 0 exits with 2' 2 '' "create: --ttl: 0 $b" hbctl create x --ttl 0
is 'advance x exits with 2' 2 '' "advance: 'x' $d" hbctl advance x
is 'advance 0 exits with 2' 2 '' "advance: 0 $b" hbctl advance 0
is 'create --buckets 1 exits with 2' 2 '' 'create: --buckets: 1 is not from 2 to 65536 *' \
	hbctl create x --buckets 1
is 'create --buckets 65537 exits with 2' 2 '' 'create: --buckets: 65537 is not from *' \
	hbctl create x --buckets 65537
is 'create --buckets 010 is ten, as buckets 10' 3 '' 'there is no device *' \
	hbctl -D "$no" create x --buckets 010
is 'create --buckets 01 is one and exits with 2' 2 '' \
	'create: --buckets: 01 is not from 2 to 65536 *' hbctl create x --buckets 01
is 'create --max-bytes 1.5GiB --ttl 1w is right usage' 3 '' 'there is no device *' \
	hbctl -D "$no" create x --max-bytes 1.5GiB --ttl 1w
is 'create --buckets -3 exits with 2' 2 '' "create: --buckets: '-3' is not a number *" \
	hbctl create x --buckets -3
is 'create --policy lru exits with 2' 2 '' "create: --policy: 'lru' is none of 'standard', *" \
	hbctl create x --policy lru
is 'create --refresh-on-get maybe exits with 2' 2 '' \
	"create: --refresh-on-get: 'maybe' is neither 'yes' nor 'no' *" \
	hbctl create x --refresh-on-get maybe
is 'create --on-put x exits with 2' 2 '' "create: --on-put: 'x' is neither 'keep' nor 'replace' *" \
	hbctl create x --on-put x
is 'create --mode 0680 exits with 2' 2 '' "create: --mode: '0680' is not an octal number *" \
	hbctl create x --mode 0680
is 'create --mode 0777 exits with 2' 2 '' "create: --mode: '0777' is not an octal *" \
	hbctl create x --mode 0777
is 'create --on-expire x exits with 2' 2 '' \
	"create: --on-expire: 'x' is none of 'drop', 'notify', 'reinsert' *" \
	hbctl create x --on-expire x
r="is none of 'expired', 'evicted', 'replaced', 'removed', 'cleared', 'pressure', 'released', 'all' *"
is 'set --report with an unknown reason exits with 2' 2 '' "set: --report: 'x' $r" \
	hbctl set x --report expired,x,evicted
is 'set --report with an empty list exits with 2' 2 '' "set: --report: '' $r" \
	hbctl set x --report ''
is 'set --report with a comma at the end exits with 2' 2 '' "set: --report: '' $r" \
	hbctl set x --report expired,
is 'create --when-full x exits with 2' 2 '' \
	"create: --when-full: 'x' is neither 'evict' nor 'reject' *" \
	hbctl create x --when-full x
is 'create --pinned=maybe exits with 2' 2 '' \
	"create: --pinned: 'maybe' is neither 'yes' nor 'no' *" \
	hbctl create x --pinned=maybe
is 'create --pinned maybe takes the word as an operand, and exits with 2' 2 '' \
	"create: 'maybe' is one operand too many *" \
	hbctl create x --pinned maybe
is 'create --pinned yes no exits with 2' 2 '' "create: 'no' is one operand too many *" \
	hbctl create x --pinned yes no
is 'create --pinned yes takes the name as a word, and exits with 2' 2 '' \
	'create: an operand is missing: *' \
	hbctl create --pinned yes
is 'create --pinned no x is right usage' 3 '' 'there is no device *' \
	hbctl -D "$no" create --pinned no x
is 'set --wipe= exits with 2' 2 '' "set: --wipe: '' is neither 'yes' nor 'no' *" hbctl set x --wipe=
is 'create --max-entries 10k exits with 2' 2 '' "create: --max-entries: '10k' is not a number *" \
	hbctl create x --max-entries 10k
is 'create --max-entries of 2^64 exits with 2' 2 '' \
	'create: --max-entries: 18446744073709551616 is not from 0 to *' \
	hbctl create x --max-entries 18446744073709551616
is 'create --max-events all exits with 2' 2 '' "create: --max-events: 'all' is not a number *" \
	hbctl create x --max-events all
s="is neither a size as 4096, 64k, 10M, 2G, nor 'none' *"
is 'create --max-bytes much exits with 2' 2 '' "create: --max-bytes: 'much' $s" \
	hbctl create x --max-bytes much
is 'create --window 100k exits with 2' 2 '' \
	'create: --window: 100k is not a power of two from 64k to 8M: try 128k *' \
	hbctl create x --window 100k
is 'create --window 16M exits with 2' 2 '' '* 16M is not a power of two from 64k to 8M: try 8M *' \
	hbctl create x --window 16M
is 'create --window 1 exits with 2' 2 '' '* try 64k *' hbctl create x --window 1
is 'create --window much exits with 2' 2 '' \
	"create: --window: 'much' is neither 'on', 'off', nor a size as 256k *" \
	hbctl create x --window much
is 'create --window 8M is right usage' 3 '' 'there is no device *' hbctl -D "$no" create x --window 8M
is 'set --max-bytes with an unknown unit exits with 2' 2 '' "set: --max-bytes: '1x' $s" \
	hbctl set x --max-bytes 1x
is 'set --max-bytes -1 exits with 2' 2 '' "set: --max-bytes: '-1' $s" hbctl set x --max-bytes -1
is 'set --max-bytes 16E exits with 2' 2 '' \
	'set: --max-bytes: 16E is more than 64 bits can count *' \
	hbctl set x --max-bytes 16E
is 'set --group with an unknown group exits with 2' 2 '' \
	"set: --group: there is no group 'no such': *" \
	hbctl set x --group 'no such'
is 'set --group with an empty group exits with 2' 2 '' "set: --group: there is no group '': *" \
	hbctl set x --group ''
is 'set --group of 2^32 - 1 exits with 2' 2 '' \
	'set: --group: 4294967295 is not from 0 to 4294967294 *' \
	hbctl set x --group 4294967295
is 'set --group root is right usage' 3 '' 'there is no device *' hbctl -D "$no" set x --group root
is 'set without an option exits with 2' 2 '' 'set: no setting is given *' hbctl set x
is 'set --grace soon exits with 2' 2 '' "set: --grace: 'soon' $d" hbctl set x --grace soon
is 'create --grace of 2^42 + 1 ms exits with 2' 2 '' \
	"create: --grace: 4398046511105ms is not from 0ms to *" \
	hbctl create x --grace 4398046511105ms
is 'set --ttl never exits with 2' 2 '' "set: --ttl: 'never' $d" hbctl set x --ttl never
is 'stat --json --prometheus exits with 2' 2 '' \
	'stat: --json and --prometheus exclude each other *' \
	hbctl stat --json --prometheus
is 'events --max 0 exits with 2' 2 '' 'events: --max: 0 is not from 1 to *' hbctl events --max 0
is 'events --max x exits with 2' 2 '' "events: --max: 'x' is not a number *" hbctl events --max x
is 'events --exec without --ack exits with 2' 2 '' 'events: --exec needs --ack: *' \
	hbctl events --exec true
is 'events --jobs without --exec exits with 2' 2 '' 'events: --jobs needs --exec *' \
	hbctl events --ack --jobs 2
is 'events --jobs 0 exits with 2' 2 '' 'events: --jobs: 0 is not from 1 to 1024 *' \
	hbctl events --ack --exec true --jobs 0
is 'events --retry 0 exits with 2' 2 '' 'events: --retry: 0 is not from 1ms to *' \
	hbctl events --ack --exec true --retry 0
is 'rm --if-version x exits with 2' 2 '' "rm: --if-version: 'x' is not a number *" \
	hbctl rm k --if-version x
is 'put --if-version of 2^64 exits with 2' 2 '' \
	'put: --if-version: 18446744073709551616 is not from 0 to *' \
	hbctl put k v --if-version 18446744073709551616
is 'put --flags of 2^32 exits with 2' 2 '' 'put: --flags: 4294967296 is not from 0 to *' \
	hbctl put k v --flags 4294967296
is 'dump --settings --json exits with 2' 2 '' 'dump: --settings is for load, which reads no JSON: *' \
	hbctl dump --settings --json
is 'put of a key without a value behind a pair exits with 2' 2 '' \
	"put: a VALUE is missing behind the KEY 'b' *" hbctl put a 1 b
is 'put of several keys with --if-version exits with 2' 2 '' \
	'put: --if-version and --if-lease are for one KEY *' hbctl put a 1 b 2 --if-version 3
is 'put of several keys with --if-lease exits with 2' 2 '' \
	'put: --if-version and --if-lease are for one KEY *' hbctl put a 1 b 2 --if-lease 3
is 'put of several keys with --from exits with 2' 2 '' \
	'put: --from is for one KEY *' hbctl put a 1 b 2 --from x
is 'put of several keys with the value - exits with 2' 2 '' \
	'put: a VALUE of - is for one KEY *' hbctl put a 1 b -
is 'put of several keys with an empty key exits with 2' 2 '' \
	'put: a key has 1 to 1024 bytes, not 0 *' hbctl put a 1 '' 2
is 'put --hold --ttl keep exits with 2' 2 '' \
	'put: --hold and --ttl keep exclude each other *' hbctl put a 1 --hold --ttl keep
is 'put --hold with a --ttl of less than 100ms exits with 2' 2 '' \
	'put: --hold: --ttl is at least 100ms *' hbctl put a 1 --hold --ttl 99ms
is 'put --from with a value exits with 2' 2 '' 'put: --from takes the place of VALUE *' \
	hbctl put k v --from /dev/null
is 'put --from of a missing file exits with 4' 4 '' \
	'cannot read the value from /nonexistent: *' hbctl put k --from /nonexistent
is 'put --from of a directory exits with 4' 4 '' 'cannot read the value from /: *' \
	hbctl put k --from /
is 'put --if-absent --if-present exits with 2' 2 '' 'put: --if-absent, --if-present *' \
	hbctl put k v --if-absent --if-present
is 'get of an empty key exits with 2' 2 '' 'get: a key has 1 to 1024 bytes, not 0 *' hbctl get ''
is 'put of a key of 1025 bytes exits with 2' 2 '' 'put: a key has 1 to 1024 bytes, not 1025 *' \
	hbctl put "$(text 1025)" v
is 'put of a key of 1024 bytes is right usage' 3 '' 'there is no device *' \
	hbctl -D "$no" put "$(text 1024)" v
is 'has -e with an unknown escape exits with 2' 2 '' "has: in 'a\\\\q' a backslash begins none *" \
	hbctl has -e 'a\q'
is 'has -e of a key of 1024 bytes is right usage' 3 '' 'there is no device *' \
	hbctl -D "$no" has -e "$(text 1023)\\x00"
is 'has -e of a key of 1025 bytes exits with 2' 2 '' 'has: a key has 1 to 1024 bytes, not 1025 *' \
	hbctl has -e "$(text 1024)\\x00"
n="a belt's name has 1 to 63 bytes, without '/' and control characters *"
is 'create with an empty name exits with 2' 2 '' "create: $n" hbctl create ''
is '-b with a slash in the name exits with 2' 2 '' "size: $n" hbctl -b a/b size
is 'destroy with a newline in the name exits with 2' 2 '' "destroy: $n" hbctl destroy 'a
b'
is 'info with a name of 64 bytes exits with 2' 2 '' "info: $n" hbctl info "$(text 64)"
is 'info with a name of 63 bytes is right usage' 3 '' "there is no device *" \
	hbctl -D "$no" info "$(text 63)"
is 'completion tcsh exits with 2' 2 '' \
	"completion: no completion for 'tcsh', only for 'bash', 'zsh' and 'fish' *" \
	hbctl completion tcsh
head -c 1048577 /dev/zero >"$temporary/big"
input=$temporary/big
is 'put of a value of 1 MiB and a byte exits with 2' 2 '' \
	'put: a value has at most 1048576 bytes *' \
	hbctl put k -
input=/dev/null
is 'an error message shows a newline in an argument as a question mark' 2 '' \
	"there is no command 'a?b' *" \
	hbctl 'a
b'

# incr, wait and get --fill
is 'incr k 5x exits with 2' 2 '' "incr: N: '5x' is not a number *" hbctl incr k 5x
is 'incr k - exits with 2' 2 '' "incr: N: '-' is not a number *" hbctl incr k -
is 'incr with an empty number exits with 2' 2 '' "incr: N: '' is not a number *" hbctl incr k ''
is 'incr k +5 exits with 2' 2 '' "incr: N: '+5' is not a number *" \
	hbctl incr k +5
is 'incr of 2^63 exits with 2' 2 '' 'incr: N: 9223372036854775808 is more than 64 bits can hold *' \
	hbctl incr k 9223372036854775808
is 'incr of -2^63 - 1 exits with 2' 2 '' 'incr: N: -9223372036854775809 is more than *' \
	hbctl incr k -9223372036854775809
is 'incr --initial x exits with 2' 2 '' "incr: --initial: 'x' is not a number *" \
	hbctl incr k --initial x
is 'incr k -5 is right usage' 3 '' 'there is no device *' hbctl -D "$no" incr k -5
is 'incr with a negative number before options is right usage' 3 '' 'there is no device *' \
	hbctl incr k -15 -D "$no" --ttl 1s --initial -7
is 'incr k -- -5 is right usage' 3 '' 'there is no device *' hbctl -D "$no" incr k -- -5
is 'incr -5 exits with 2: no such option' 2 '' "incr: there is no option '-5' *" hbctl incr -5
is 'incr k -5 -6 exits with 2: no such option' 2 '' "incr: there is no option '-6' *" \
	hbctl incr k -5 -6
is 'put k -5 exits with 2: no such option' 2 '' "put: there is no option '-5' *" hbctl put k -5
is 'wait --timeout 0 exits with 2' 2 '' "wait: --timeout: 0 is not from 1ms to *" \
	hbctl wait k --timeout 0
is 'wait --timeout forever exits with 2' 2 '' "wait: --timeout: 'forever' $d" \
	hbctl wait k --timeout forever
is 'wait with an empty key among others exits with 2' 2 '' \
	'wait: a key has 1 to 1024 bytes, not 0 *' \
	hbctl wait a '' b
is 'watch --interval 9ms exits with 2' 2 '' 'watch: --interval: 9ms is not from 10ms to 1d *' \
	hbctl watch k --interval 9ms
is 'watch --max 0 exits with 2' 2 '' 'watch: --max: 0 is not from 1 to *' hbctl watch k --max 0
is 'get --lease without --fill exits with 2' 2 '' 'get: --lease needs --fill *' \
	hbctl get k --lease 1s
is 'get --wait without --fill exits with 2' 2 '' 'get: --wait needs --fill *' hbctl get k --wait 1s
is 'get --ahead without --fill exits with 2' 2 '' 'get: --ahead needs --fill *' \
	hbctl get k --ahead 1s
is 'get --stale without --fill exits with 2' 2 '' 'get: --stale needs --fill *' hbctl get k --stale
is 'get --retry-after without --fill exits with 2' 2 '' 'get: --retry-after needs --fill *' \
	hbctl get k --retry-after 1s
is 'get --print-token without --fill exits with 2' 2 '' 'get: --print-token needs --fill *' \
	hbctl get k --print-token
is 'get with a command without --fill exits with 2' 2 '' 'get: a COMMAND needs --fill *' \
	hbctl get k -- echo
is 'get --fill --ttl without a command exits with 2' 2 '' 'get: with --fill, --ttl needs a COMMAND*' \
	hbctl get k --fill --ttl 1s
is 'get --fill --lease 0 exits with 2' 2 '' 'get: --lease: 0 is not from 1ms to *' \
	hbctl get k --fill --lease 0
is 'get --fill --retry-after without a command exits with 2' 2 '' \
	'get: --retry-after needs a COMMAND*' hbctl get k --fill --retry-after 1s
is 'get --fill --retry-after 0 exits with 2' 2 '' 'get: --retry-after: 0 is not from 1ms to *' \
	hbctl get k --fill --retry-after 0 -- true
is 'get --fill --retry-after forever exits with 2' 2 '' "get: --retry-after: 'forever' $d" \
	hbctl get k --fill --retry-after forever -- true
is 'get --fill --retry-after with a command is right usage' 3 '' 'there is no device *' \
	hbctl -D "$no" get k --fill --retry-after 1s -- true
is 'get --fill --print-token with a command exits with 2' 2 '' \
	'get: --print-token takes the place of a COMMAND *' hbctl get k --fill --print-token -- true
is 'get --fill --print-token is right usage' 3 '' 'there is no device *' \
	hbctl -D "$no" get k --fill --print-token --ahead 10s --lease 1m
is 'put --if-lease x exits with 2' 2 '' "put: --if-lease: 'x' is not a number *" \
	hbctl put k v --if-lease x
is 'put --if-lease 0 exits with 2' 2 '' 'put: --if-lease: 0 is not from 1 to *' \
	hbctl put k v --if-lease 0
is 'put --if-lease with --if-version exits with 2' 2 '' 'put: --if-absent, * exclude each other *' \
	hbctl put k v --if-lease 1 --if-version 1
is 'put --if-lease with --if-absent exits with 2' 2 '' 'put: --if-absent, * exclude each other *' \
	hbctl put k v --if-lease 1 --if-absent
is 'put --if-lease is right usage' 3 '' 'there is no device *' \
	hbctl -D "$no" put k v --if-lease 18446744073709551615
is 'rm --if-lease exits with 2: no such option' 2 '' "rm: there is no option '--if-lease'*" \
	hbctl rm k --if-lease 1
is 'get --fill --wait 0 is right usage' 3 '' 'there is no device *' \
	hbctl -D "$no" get k --fill --wait 0
is 'get --fill --wait forever is right usage' 3 '' 'there is no device *' \
	hbctl -D "$no" get k --fill --wait forever
is 'get --fill --ahead 0% exits with 2' 2 '' "get: --ahead: '0%' is not from 1% to 100% *" \
	hbctl get k --fill --ahead 0%
is 'get --fill --ahead 101% exits with 2' 2 '' "get: --ahead: '101%' is not from 1% to 100% *" \
	hbctl get k --fill --ahead 101%
is 'get --fill --ahead % exits with 2' 2 '' "get: --ahead: '%' is not from 1% to 100% *" \
	hbctl get k --fill --ahead %
is 'get --fill --ahead 0.5% exits with 2' 2 '' "get: --ahead: '0.5%' is not from *" \
	hbctl get k --fill --ahead 0.5%
is 'get --fill --ttl never --ahead 25% exits with 2' 2 '' \
	"get: --ahead: there is no 25% of a life without an end: *" \
	hbctl get k --fill --ttl never --ahead 25% -- true
is 'get --fill --ahead 10s is right usage' 3 '' 'there is no device *' \
	hbctl -D "$no" get k --fill --ahead 10s
is 'get --fill with options of the command after -- is right usage' 3 '' 'there is no device *' \
	hbctl -D "$no" get k --fill -- ls --foo -l
is 'get --fill -- -k -- ls -l is right usage' 3 '' 'there is no device *' \
	hbctl -D "$no" get --fill -- -k -- ls -l
is 'get --fill of two keys exits with 2' 2 '' \
	"get: --fill is for one KEY *" hbctl get --fill -- -k ls
is 'get --verbose of two keys exits with 2' 2 '' \
	"get: --verbose is for one KEY: *" hbctl get -v a b
is 'rm --if-version of two keys exits with 2' 2 '' \
	"rm: --if-version is for one KEY *" hbctl rm a b --if-version 1
is 'rm --prefix with a key exits with 2' 2 '' \
	'rm: --prefix and --match take the place of KEY *' hbctl rm a --prefix b
is 'rm --match --if-version exits with 2' 2 '' \
	"rm: --if-version is for one KEY *" hbctl rm --match 'a*' --if-version 1
is 'rm --dry-run of a key exits with 2' 2 '' \
	'rm: --dry-run needs --prefix or --match *' hbctl rm a --dry-run
is 'rm --prefix with an empty prefix exits with 2' 2 '' \
	"rm: --prefix is empty, and no key is: 'hbctl clear' drops all entries *" hbctl rm --prefix ''
is 'rm -e --prefix with an unknown escape exits with 2' 2 '' \
	"rm: in 'a\\\\q' a backslash begins none *" hbctl rm -e --prefix 'a\q'
is 'rm -e --match with a NUL byte exits with 2' 2 '' \
	'rm: --match: a pattern has no NUL byte *' hbctl rm -e --match 'a\x00*'
is 'rm --prefix without a key is right usage' 3 '' 'there is no device *' \
	hbctl -D "$no" rm --prefix a
is 'rm of a long key among others exits with 2' 2 '' 'rm: a key has 1 to 1024 bytes, not 1025 *' \
	hbctl -D "$no" rm a "$(text 1025)" b
is 'get --fill with a command and no key exits with 2' 2 '' 'get: an operand is missing: get *' \
	hbctl get --fill -- -- ls

# Options before, between and after operands; none after --
is 'options before operands are right usage' 3 '' 'there is no device *' \
	hbctl put -D "$no" --ttl 1s k v
is 'options between operands are right usage' 3 '' 'there is no device *' \
	hbctl put k -D "$no" --flags=1 v
is 'options after operands are right usage' 3 '' 'there is no device *' \
	hbctl put k v -D "$no" --json
is 'options after operands are right usage with POSIXLY_CORRECT' 3 '' 'there is no device *' \
	env POSIXLY_CORRECT=1 hbctl put k v -D "$no"
is 'a key with a dash after -- is right usage' 3 '' 'there is no device *' hbctl -D "$no" get -- -k
is 'a key with a dash without -- exits with 2' 2 '' "get: there is no option '-k' *" \
	hbctl -D "$no" get -k

is 'set --consumers all exits with 2' 2 '' \
	"set: --consumers: 'all' is none of 'readers', 'owner' *" hbctl set x --consumers all

# The owner that is demanded of a belt
is '--belt-owner with a name that no user has exits with 2' 2 '' \
	"get: --belt-owner: there is no user 'no-one': *" \
	hbctl --belt-owner no-one get k
is '--belt-owner with an empty name exits with 2' 2 '' \
	"get: --belt-owner: there is no user '': *" hbctl get k --belt-owner ''
is '--belt-owner 4294967295 exits with 2' 2 '' \
	'get: --belt-owner: 4294967295 is not from 0 to 4294967294 *' \
	hbctl get k --belt-owner 4294967295
is '--belt-owner with the name of a user is right usage' 3 '' 'there is no device *' \
	hbctl -D "$no" get k --belt-owner root
is '--belt-owner with a number is right usage' 3 '' 'there is no device *' \
	hbctl -D "$no" get k --belt-owner 12345

# Without a device
for command in $commands; do
	case $command in
	batch | doctor | help | completion | version) continue ;;
	esac
	# shellcheck disable=SC2046 # words
	is "$command without a device exits with 3" 3 '' \
		"there is no device $no: load the module with 'modprobe *" \
		hbctl --json -D "$no" "$command" $(operands "$command")
done
is '-D /dev/null exits with 3' 3 '' '/dev/null is not the device of hashbelt' \
	hbctl -D /dev/null size
is '-D with a directory exits with 3' 3 '' 'cannot open /: *' hbctl -D / size

# The object with the commands that hbctl does not have in itself
alone=$temporary/alone/bin/hbctl
object=$temporary/alone/lib/hashbelt/hbctl-manage.so
mkdir -p "${alone%/*}" "${object%/*}"
cp "$(command -v hbctl)" "$alone"
needed=$(readelf -d "$alone" | sed -n '/ld-linux/d; s/.*(NEEDED).*\[\(.*\)\]/\1/p')
result 'hbctl needs the C library alone' "$([ "$needed" = libc.so.6 ] || echo "$needed")"
is 'without its object hbctl gets entries' 3 '' "there is no device $no*" "$alone" -D "$no" get key
is 'without its object hbctl has no other commands' 4 '' \
	'*/lib/hashbelt/hbctl-manage.so: cannot open shared object file: *: install hbctl again' "$alone" belts
is 'without its object hbctl prints no help' 4 '' '*: install hbctl again' "$alone" get --help
: >"$object"
is 'an object that was cut off is named' 4 '' '*/hbctl-manage.so: file too short: install hbctl again' \
	"$alone" belts
echo 'const struct { const char *version; } hbctl_manage = { "0.0" };' |
	gcc -shared -fPIC -o "$object" -x c -
is 'the object of another version is refused' 4 '' \
	'*/hbctl-manage.so is of version 0.0, and hbctl of version *: install hbctl again' "$alone" belts
cp "$(dirname "$(command -v hbctl)")/hbctl-manage.so" "$object"
is 'hbctl loads its object from ../lib/hashbelt' 3 '' "there is no device $no*" "$alone" -D "$no" belts

# batch
# batch NAME STATUS OUT ERR LINES [OPTION]... - run the lines without a device
batch() {
	printf '%b' "$5" >"$temporary/batch"
	name=$1 wanted=$2 out=$3 err=$4
	shift 5
	is "batch: $name" "$wanted" "$out" "$err" hbctl -D "$no" batch "$temporary/batch" "$@"
}
batch 'an empty file is no error' 0 '' '' ''
batch 'comments and empty lines are no commands' 0 '' '' '# nothing\n\n  # here\n'
batch 'an error names the file and the line' 3 '' "$temporary/batch:2: there is no device *" \
	'\nget a\nget b\n'
batch 'a last line without a newline is run' 3 '' "$temporary/batch:1: there is no device *" 'get a'
batch 'a byte order mark is no part of the first command' 3 '' "$temporary/batch:1: there is no device *" \
	'\0357\0273\0277get a\n'
{ echo version && text 4202497; } >"$temporary/batch"
like 'batch: a line of more than 4202496 bytes is an error' 4 'hbctl [0-9]*' \
	"$temporary/batch:2: the line has more than 4202496 bytes" hbctl batch "$temporary/batch"
{ echo version && text 4000000; } >"$temporary/batch"
least_memory version
like 'batch: a line for which there is no memory is an error' 4 'hbctl [0-9]*' \
	"$temporary/batch:2: the line does not fit into memory" \
	sh -c "ulimit -v $((memory + 3072)) && hbctl batch '$temporary/batch'"
is 'batch: a line without an end is an error' 4 '' 'stdin:1: the line has more than 4202496 bytes' \
	sh -c 'ulimit -v 500000 && yes | tr -d "\n" | hbctl batch'
batch 'an unknown command names the line' 2 '' "$temporary/batch:1: there is no command 'gte': did *" \
	'gte a\n'
batch 'wrong usage names the line' 2 '' "$temporary/batch:1: get: an operand is missing: *" 'get'
batch 'wrong quoting names the line' 2 '' "$temporary/batch:2: a ' is not closed" "\nget 'a"
batch 'a batch in a batch is refused' 2 '' "$temporary/batch:1: batch: a batch runs no other batch *" \
	'batch /dev/null'
like 'batch runs lines up to the first that fails' 2 'hbctl [0-9]*' '*:2: *' \
	sh -c "printf 'version\nno\nversion\n' | hbctl batch -"
printf 'no\nversion\nget -D %s a\nversion\nput\n' "$no" >"$temporary/keep"
run hbctl batch "$temporary/keep" --keep-going
result 'batch --keep-going runs all lines' "$(check_status 3
	[ "$(grep -c ^hbctl "$temporary/out")" = 2 ] || echo "expected two versions on stdout")"
result 'batch --keep-going names each line that fails' "$(
	sed "s|$temporary/keep:\([0-9]*\):.*|\1|; s/.*: //" "$temporary/err" | tr '\n' ' ' |
		grep -qx '1 3 5 ' || cat "$temporary/err")"
like 'batch passes --json on to its lines' 0 '{"version":"[0-9]*' '' \
	sh -c 'echo version | hbctl batch --json'
is 'a put of a batch in stdin takes no value from there' 2 '' \
	'stdin:1: put: standard input has the commands of the batch: name a file *' \
	sh -c "printf 'put k\nversion\n' | hbctl -D $no batch"
is 'a load of a batch in stdin takes no lines from there' 2 '' \
	'stdin:1: load: standard input has the commands of the batch: name a file *' \
	sh -c "printf 'load\nversion\n' | hbctl -D $no batch"
is 'a put of a batch in a file takes its value from stdin' 3 '' '/dev/fd/3:1: there is no device *' \
	sh -c "echo 'put k' >$temporary/put; hbctl -D $no batch /dev/fd/3 3<$temporary/put"
is 'a lock in a store in a batch is refused' 3 '' \
	"stdin:1: --store: run the batch with 'hbctl-store batch', or the command alone" \
	sh -c 'echo "lock x --store dbname=x" | hbctl batch'
is 'an operand BELT in a batch takes precedence over -b of the batch' 3 '' \
	'stdin:1: there is no device *' sh -c "echo stat b | hbctl -D $no -b a batch"
is 'an operand BELT in a batch and another with -b in the line exit with 2' 2 '' \
	"stdin:1: stat: -b names belt 'c', and the operand belt 'b' *" \
	sh -c "echo stat b -b c | hbctl -D $no -b a batch"
is 'batch of a missing file exits with 4' 4 '' 'cannot open /nonexistent: *' \
	hbctl batch /nonexistent
is 'batch of a directory exits with 4' 4 '' 'cannot read /: *' hbctl batch /

# doctor, on a machine without the module. The files that it looks at are below another root directory.
export HBCTL_DOCTOR_ROOT="$temporary/machine"
release=$(uname -r)
modules=$HBCTL_DOCTOR_ROOT/lib/modules/$release
rules=$HBCTL_DOCTOR_ROOT/etc/udev/rules.d
# place FILE [LINE]... - make a file below that root directory.
place() {
	mkdir -p "$(dirname "$HBCTL_DOCTOR_ROOT$1")"
	file=$HBCTL_DOCTOR_ROOT$1
	shift
	printf '%s\n' "$@" >"$file"
}

# doctor_says NAME TEXT - the first line of doctor is the only one with "wrong", and is TEXT.
doctor_says() {
	like "doctor, $1" 3 "wrong   module   hashbelt is not loaded: $2
*" "$no cannot be used: see the lines with 'wrong'" hbctl -D "$no" doctor
	result "doctor, $1: no other line has 'wrong'" "$(hbctl -D "$no" doctor 2>"$temporary/err" | sed 1d | grep '^wrong')"
}

doctor_says 'nothing installed' \
	"there is none for Linux $release: install the package hashbelt-dkms, or run 'make install' in its sources"
result 'doctor, nothing installed: no advice is about a result of that' \
	"$(hbctl -D "$no" doctor 2>"$temporary/err" | grep -E '^[a-z]+ +(device|rights|udev|memory|tracing) ')"
place /usr/src/hashbelt-1.2.3/dkms.conf
doctor_says 'no DKMS' "DKMS, which builds it, is missing: 'dnf install dkms && modprobe hashbelt'"
place /usr/sbin/dkms
place /usr/bin/apt-get
doctor_says 'no headers' "the headers of Linux $release are missing, so DKMS could not build it: \
'apt install linux-headers-$release && dkms autoinstall && modprobe hashbelt'"
place "/lib/modules/$release/build/Makefile"
doctor_says 'nothing built' "DKMS has not built it for Linux $release: \
'dkms install hashbelt/1.2.3 && modprobe hashbelt'"
place /var/lib/dkms/hashbelt/1.2.3/build/make.log
doctor_says 'a build that failed' "DKMS could not build it for Linux $release, and \
$HBCTL_DOCTOR_ROOT/var/lib/dkms/hashbelt/1.2.3/build/make.log says why: 'dkms install hashbelt/1.2.3' tries again"
place "/lib/modules/$release/modules.dep" 'kernel/fs/fat/fat.ko: kernel/lib/hashbelt.ko'
doctor_says 'a module of that name only among what others need' 'DKMS could not build it for *'
place "/lib/modules/$release/modules.dep" 'kernel/fs/fat/fat.ko:' 'updates/dkms/hashbelt.ko.xz:'
doctor_says 'a module that is not loaded' \
	"'modprobe hashbelt', and 'echo hashbelt >/etc/modules-load.d/hashbelt.conf' for each boot"
place /usr/lib/modules-load.d/hashbelt.conf hashbelt
doctor_says 'a module that systemd loads' "'modprobe hashbelt'"
rm -rf "$modules"

# rule_says NAME LINE - the line about the udev rule.
rule_says() {
	like "doctor, $1" 3 "*
$2
*" '*' hbctl -D "$no" doctor
}

place /usr/lib/udev/rules.d/60-hashbelt.rules '# GROUP="none"' 'KERNEL=="hashbelt", GROUP="root", MODE="0660"'
rule_says 'the installed udev rule' \
	"ok      udev     $HBCTL_DOCTOR_ROOT/usr/lib/udev/rules.d/60-hashbelt.rules sets group and mode of the device"
place /etc/udev/rules.d/60-hashbelt.rules 'KERNEL=="hashbelt", GROUP="nosuchgroup"'
rule_says 'a udev rule with a group that does not exist' \
	"advice  udev     $rules/60-hashbelt.rules gives the device to the group nosuchgroup, which does not exist, *"
place /etc/udev/rules.d/60-hashbelt.rules 'KERNEL=="hashbelt", GROUP="1234"'
rule_says 'a udev rule with a group that is none of the system' \
	"advice  udev     $rules/60-hashbelt.rules gives the device to the group 1234, which is no system group, *"
place /etc/login.defs 'SYS_GID_MAX		1500'
rule_says 'a machine with more system groups' "ok      udev     $rules/60-hashbelt.rules sets *"
place /etc/udev/rules.d/99-local.rules 'SUBSYSTEM=="misc", KERNEL=="hashbelt", GROUP:="nosuchgroup"'
rule_says 'a later rule of the machine' "advice  udev     $rules/99-local.rules gives the device to the group nosuchgroup, *"
place /etc/udev/rules.d/10-local.rules 'KERNEL=="hashbelt", GROUP="nosuchgroup"'
rm "$rules/99-local.rules"
rule_says 'a rule of the machine before it' "ok      udev     $rules/60-hashbelt.rules sets *"

for unit in hbserve@a hbserve-redis@b hbfollow@c; do
	place /etc/systemd/system/multi-user.target.wants/$unit.service
done
rule_says 'enabled units of hbserve' \
	'advice  serve    hbserve-redis@b, hbserve@a: waits for the device, which starts it; until then its clients are refused'
rule_says 'an enabled unit of hbfollow' 'advice  follow   hbfollow@c: waits for the device, which starts it'
unset HBCTL_DOCTOR_ROOT
# figures BELT STATE HAS_BELT [REPLICA] - write figures of hbfollow.
figures() {
	mkdir -p "$temporary/figures/$1"
	for sample in "state $2" "replica ${4-0}" "belt $3" 'since_seconds 1000000000' 'delay_seconds 0.5'; do
		echo "hbfollow_${sample% *}{belt=\"$1\",engine=\"redis\"} ${sample#* }"
	done >"$temporary/figures/$1/figures.prom"
}

export HBFOLLOW_FIGURES="$temporary/figures" TZ=UTC
like 'doctor says how to start hbfollow' 3 \
	"*ok      follow   no hbfollow runs: 'systemctl start hbfollow@BELT' *" '*' hbctl -D "$no" doctor
figures good 1 1
figures lost 0 1
figures none 1 0
figures old 1 1
figures second 1 1 1
touch -d '1 minute ago' "$temporary/figures/old/figures.prom"
like 'doctor says of each followed belt whether it is coherent' 3 "*
ok      follow   belt 'good' follows a primary of redis since 2001-09-09 01:46:40
advice  follow   belt 'lost': redis is lost since 2001-09-09 01:46:40, so the belt is cleared *
advice  follow   hbfollow follows redis, but there is no belt 'none', or it has no right to that: *
advice  follow   hbfollow of belt 'old' has not written for 6[0-9] s: 'systemctl restart hbfollow@old'
ok      follow   belt 'second' follows a replica of redis since 2001-09-09 01:46:40
*" '*' hbctl -D "$no" doctor
unset HBFOLLOW_FIGURES TZ
like 'doctor -D /dev/null exits with 3' 3 '*wrong   device   /dev/null is not the device of the module: *' \
	"/dev/null cannot be used: *" hbctl -D /dev/null doctor
like 'doctor --json prints an object for each check' 3 \
	'{"check":"module","finding":"*","text":"*}*{"check":"kernel","finding":"*","text":"*"}' \
	'* cannot be used: *' hbctl -D "$no" doctor --json

# Errors as JSON
is 'put --json with wrong usage prints the error as JSON' 2 \
	'{"error":"put: --ttl: '"'x'"' is not a duration as 250ms, 30s or 1h30m (see '"'hbctl help put'"')","errno":null}' \
	'' sh -c 'hbctl put k v --ttl x --json 2>&1'
is 'an error before --json is JSON as well' 2 \
	'{"error":"put: there is no option '"'--foo'"' (see '"'hbctl help put'"')","errno":null}' '' \
	sh -c 'hbctl put k v --foo --json 2>&1'
like 'an error of the device has its errno' 3 '{"error":"there is no device *","errno":2}' '' \
	sh -c 'hbctl -D /nonexistent get k --json 2>&1'
# shellcheck disable=SC2016 # the inner shell expands it
is 'an error as JSON replaces bytes that are not UTF-8, and escapes quotes' 2 \
	'{"error":"there is no command '"'"'\"?'"' (see 'hbctl help')\",\"errno\":null}" '' \
	sh -c 'hbctl --json "$1" 2>&1' sh "$(printf '"\303')"
like 'a batch with --json prints errors as JSON' 2 '{"error":"stdin:1: there is no command *","errno":null}' '' \
	sh -c 'echo nocommand | hbctl batch --json 2>&1'
is 'words behind -- do not make errors JSON' 3 '' 'there is no device *' \
	hbctl -D "$no" get k --fill -- cat --json

# version and failures of files
like 'version prints the version and the interface' 0 'hbctl [0-9]*.[0-9]* (interface 1)' '' \
	hbctl version
like '--version prints what version prints' 0 'hbctl [0-9]*.[0-9]* (interface 1)' '' \
	hbctl --version
like '-V behind a command prints the version and does nothing' 0 \
	'hbctl [0-9]*.[0-9]* (interface 1)' '' hbctl put -V
like 'version --json prints the version and the interface' 0 '{"version":"[0-9]*","interface":1}' \
	'' \
	hbctl version --json
is 'load of a missing file exits with 4' 4 '' 'cannot open /nonexistent: *' hbctl load /nonexistent
# shellcheck disable=SC2016 # expanded by the inner shell
is 'help into a full device exits with 4' 4 '' 'cannot write the output: *' \
	sh -c 'exec hbctl help >/dev/full'

# shellcheck disable=SC2317 # called by is
# complete WORD... - what bash completion offers for the last word
complete() {
	bash -c '
		. "$0"
		COMP_LINE=$* COMP_POINT=${#COMP_LINE}
		_hbctl hbctl "${@: -1}" "${@: -2:1}"
		echo "${COMPREPLY[*]}"' "$temporary/completion" "$@"
}

is 'bash completion offers commands' 0 'complete clear create completion' '' complete \
	hbctl c
is 'bash completion offers commands after options' 0 'halt' '' \
	complete hbctl -b x --json hal
is 'bash completion offers options of put' 0 \
	'--if-absent --if-present --if-version --if-lease' '' \
	complete hbctl put k v --if
is 'bash completion offers users' 0 'root' '' complete hbctl --belt-owner roo
is 'bash completion offers policies' 0 'standard updating timecache' '' \
	complete hbctl create --policy ''
is 'bash completion offers yes and no' 0 'yes no' '' complete hbctl create x --pinned ''
is 'bash completion offers reasons' 0 'expired evicted' '' complete hbctl set x --report e
is 'bash completion offers options of events' 0 '--follow' '' complete hbctl events --f
is 'bash completion offers shells' 0 'bash zsh fish belts' '' complete hbctl completion ''
is 'bash completion offers commands after help' 0 'rotate' '' complete hbctl help ro
is 'bash completion offers reasons behind an =' 0 '--report=expired --report=evicted' '' \
	complete hbctl set x --report=e
is 'bash completion offers columns behind others' 0 'name,entries,TTL' '' \
	complete hbctl belts -o name,entries,TT
is 'bash completion offers columns behind a +' 0 '+TTL' '' complete hbctl belts -o +TT

# offered LINE - what fish completion offers for the last word of the line
# shellcheck disable=SC2317 # called by is
offered() {
	fish -N -c "source '$temporary/hbctl.fish'; complete -C '$1'" | cut -f 1 | sort | paste -s -d ' ' -
}

is 'fish completion offers commands' 0 'clear complete completion create' '' offered 'hbctl c'
is 'fish completion offers options of put' 0 \
	'--if-absent --if-lease --if-present --if-version' '' \
	offered 'hbctl put k v --if'
is 'fish completion offers policies and no files' 0 'standard timecache updating' '' \
	offered 'hbctl create x --policy '
is 'fish completion offers files after load' 0 "$temporary/help" '' \
	offered "hbctl load $temporary/he"
is 'zsh reads the script for completion' 0 '' '' zsh -f -c \
	"autoload -U compinit && compinit -u -D && source '$temporary/_hbctl' && whence _hbctl >/dev/null"
finish
