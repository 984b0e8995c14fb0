#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# usage.t - what hbctl does without a device: help, usage, completion.
# shellcheck disable=SC2016,SC2046,SC2086,SC2317 # scripts of other shells; words; functions that tap.sh calls
set -u
unset HASHBELT_STORE

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/tap.sh"
# shellcheck source=tests/hbctl/usage.sh
. "$(dirname "$0")/usage.sh"

commands="put get touch has rm expire incr wait watch complete keys dump load size clear create set apply export
	destroy belts info stat top events halt resume rotate advance batch bench doctor help completion version
	lock unlock renew locks release"

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
	lock) echo x ;;
	unlock | renew) echo x --owner a ;;
	release) echo --owner a ;;
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
	result "help lists $command" "$(grep -q "^  $command " "$temporary/help" || echo missing)"
	like "help $command prints its usage and options" 0 "usage: hbctl *$command: *--device*" \
		'' hbctl help "$command"
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
refuses "there is no command 'grow' *" grow
refuses "there is no option '--foo' *" --foo
refuses "help: there is no command 'x' *" help x
for command in $commands; do
	is "$command with an unknown option exits with 2" 2 '' \
		"$command: there is no option '--foo' (see 'hbctl help $command')" \
		hbctl "$command" $(operands "$command") --foo
	case $command in
	put | get | touch | rm | watch | apply) ;;
	*)
		is "$command with an operand too many exits with 2" 2 '' \
			"$command: 'more' is one operand too many*" \
			hbctl "$command" $(operands "$command") $(
				case $command in
				keys | load | batch | info | stat | size | clear | halt | resume | rotate | \
					advance | help | incr) echo help ;;
				wait) seq 2 16 ;;
				esac) more
		;;
	esac
	[ -n "$(operands "$command")" ] || continue
	[ "$command" != release ] || continue
	is "$command without operands exits with 2" 2 '' \
		"$command: an operand is missing: $command *" hbctl "$command"
done
refuses "get: there is no option '-x' *" get k -x
refuses "put: --ttl needs an argument *" put k v --ttl
refuses "-b needs an argument *" -b
refuses "size: --json takes no argument *" size --json=1

# Rights

# powerless COMMAND... - run a command without the capabilities of root.
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
refuses "there is no command 'toch': did you mean 'touch'? (see 'hbctl help')" toch k
refuses "there is no command 'egt': did you mean 'get'? *" egt k
refuses "help: there is no command 'evnts': did you mean 'events'? *" help evnts
refuses "put: there is no option '--if-abscent': did you mean '--if-absent'? *" put k v --if-abscent
refuses "create: there is no option '--tll=5m': did you mean '--ttl'? *" create x --tll=5m
refuses "stat: -b names belt 'a', and the operand belt 'b' *" -b a stat b
takes -b a stat a
takes advance 1s a
refuses 'rm: an operand is missing: rm KEY... *' del
like 'ls is another name of keys' 0 'usage: hbctl \[OPTION]... keys *' '' hbctl ls --help

# Values of options and operands
d="is not a duration as 250ms, 30s or 1h30m *"
b="is not from 1ms to 4398046511104ms (50903d) *"
refuses "put: --ttl: 'soon' $d" put k v --ttl soon
refuses "put: --ttl: 0 $b" put k v --ttl 0
refuses "touch: --ttl: 'keep' $d" touch k --ttl keep
refuses 'touch: --add and --ttl never exclude each other *' touch k --add --ttl never
refuses 'touch: --if-lasting and others on the deadline, or --if-later and --if-sooner, exclude each other *' \
	touch k --if-later --if-sooner
refuses 'touch: --if-lasting and * exclude each other *' touch k --if-lasting --add
refuses 'touch: --if-version is for one KEY *' touch k l --if-version 1
refuses "get: --ttl: 'keep' $d" get k --ttl keep
refuses "create: --ttl: 'never' $d" create x --ttl never
refuses "create: --ttl: 0 $b" create x --ttl 0
refuses "advance: 'x' $d" advance x
refuses "advance: 0 $b" advance 0
refuses 'create: --buckets: 1 is not from 2 to 65536 *' create x --buckets 1
takes create x --buckets 010
refuses 'create: --buckets: 01 is not from 2 to 65536 *' create x --buckets 01
takes create x --max-bytes 1.5GiB --ttl 1w
refuses "create: --policy: 'lru' is none of 'standard', *" create x --policy lru
refuses "create: --refresh-on-get: 'maybe' is neither 'yes' nor 'no' *" create x --refresh-on-get maybe
refuses "create: --on-put: 'x' is neither 'keep' nor 'replace' *" create x --on-put x
refuses "create: --mode: '0680' is not an octal number *" create x --mode 0680
refuses "create: --on-expire: 'x' is none of 'drop', 'notify', 'reinsert' *" create x --on-expire x
r="is none of 'expired', 'evicted', 'replaced', 'removed', 'cleared', 'pressure', 'released', 'all' *"
refuses "set: --report: 'x' $r" set x --report expired,x,evicted
refuses "set: --report: '' $r" set x --report ''
refuses "create: --when-full: 'x' is neither 'evict' nor 'reject' *" create x --when-full x
refuses "create: --pinned: 'maybe' is neither 'yes' nor 'no' *" create x --pinned=maybe
refuses "create: 'maybe' is one operand too many *" create x --pinned maybe
refuses 'create: an operand is missing: *' create --pinned yes
takes create --pinned no x
refuses "set: --wipe: '' is neither 'yes' nor 'no' *" set x --wipe=
refuses "create: --max-entries: '10k' is not a number *" create x --max-entries 10k
refuses 'create: --max-entries: 18446744073709551616 is not from 0 to *' \
	create x --max-entries 18446744073709551616
s="is neither a size as 4096, 64k, 10M, 2G, nor 'none' *"
refuses "create: --max-bytes: 'much' $s" create x --max-bytes much
refuses 'create: --window: 100k is not a power of two from 64k to 8M: try 128k *' create x --window 100k
refuses '* 16M is not a power of two from 64k to 8M: try 8M *' create x --window 16M
refuses "create: --window: 'much' is neither 'on', 'off', nor a size as 256k *" create x --window much
takes create x --window 8M
refuses 'set: --max-bytes: 16E is more than 64 bits can count *' set x --max-bytes 16E
refuses "set: --group: there is no group 'no such': *" set x --group 'no such'
refuses 'set: --group: 4294967295 is not from 0 to 4294967294 *' set x --group 4294967295
takes set x --group root
refuses 'set: no setting is given *' set x
refuses "set: --grace: 'soon' $d" set x --grace soon
refuses "create: --grace: 4398046511105ms is not from 0ms to *" create x --grace 4398046511105ms
refuses "set: --ttl: 'never' $d" set x --ttl never
refuses 'stat: --json and --prometheus exclude each other *' stat --json --prometheus
refuses 'events: --max: 0 is not from 1 to *' events --max 0
refuses "events: --max: 'x' is not a number *" events --max x
refuses 'events: --exec needs --ack: *' events --exec true
refuses 'events: --jobs needs --exec *' events --ack --jobs 2
refuses 'events: --jobs: 0 is not from 1 to 1024 *' events --ack --exec true --jobs 0
refuses 'events: --retry: 0 is not from 1ms to *' events --ack --exec true --retry 0
refuses "rm: --if-version: 'x' is not a number *" rm k --if-version x
refuses 'put: --flags: 4294967296 is not from 0 to *' put k v --flags 4294967296
refuses 'dump: --settings is for load, which reads no JSON: *' dump --settings --json
refuses "put: a VALUE is missing behind the KEY 'b' *" put a 1 b
refuses 'put: --if-version and --if-lease are for one KEY *' put a 1 b 2 --if-version 3
refuses 'put: --if-version and --if-lease are for one KEY *' put a 1 b 2 --if-lease 3
refuses 'put: --from is for one KEY *' put a 1 b 2 --from x
refuses 'put: a VALUE of - is for one KEY *' put a 1 b -
refuses 'put: a key has 1 to 1024 bytes, not 0 *' put a 1 '' 2
refuses 'put: --hold and --ttl keep exclude each other *' put a 1 --hold --ttl keep
refuses 'put: --hold: --ttl is at least 100ms *' put a 1 --hold --ttl 99ms
refuses 'put: --from takes the place of VALUE *' put k v --from /dev/null
is 'put --from of a missing file exits with 4' 4 '' \
	'cannot read the value from /nonexistent: *' hbctl put k --from /nonexistent
is 'put --from of a directory exits with 4' 4 '' 'cannot read the value from /: *' \
	hbctl put k --from /
refuses 'put: --if-absent, --if-present *' put k v --if-absent --if-present
refuses 'get: a key has 1 to 1024 bytes, not 0 *' get ''
is 'put of a key of 1025 bytes exits with 2' 2 '' 'put: a key has 1 to 1024 bytes, not 1025 *' \
	hbctl put "$(text 1025)" v
is 'put of a key of 1024 bytes is right usage' 3 '' 'there is no device *' \
	hbctl -D "$no" put "$(text 1024)" v
refuses "has: in 'a\\\\q' a backslash begins none *" has -e 'a\q'
is 'has -e of a key of 1024 bytes is right usage' 3 '' 'there is no device *' \
	hbctl -D "$no" has -e "$(text 1023)\\x00"
is 'has -e of a key of 1025 bytes exits with 2' 2 '' 'has: a key has 1 to 1024 bytes, not 1025 *' \
	hbctl has -e "$(text 1024)\\x00"
n="a belt's name has 1 to 63 bytes, without '/' and control characters *"
refuses "create: $n" create ''
refuses "size: $n" -b a/b size
is 'destroy with a newline in the name exits with 2' 2 '' "destroy: $n" hbctl destroy 'a
b'
is 'info with a name of 64 bytes exits with 2' 2 '' "info: $n" hbctl info "$(text 64)"
is 'info with a name of 63 bytes is right usage' 3 '' "there is no device *" \
	hbctl -D "$no" info "$(text 63)"
refuses "completion: no completion for 'tcsh', only for 'bash', 'zsh' and 'fish' *" completion tcsh
head -c 1048577 /dev/zero >"$temporary/big"
input=$temporary/big
refuses 'put: a value has at most 1048576 bytes *' put k -
input=/dev/null
is 'an error message shows a newline in an argument as a question mark' 2 '' \
	"there is no command 'a?b' *" hbctl 'a
b'

# incr, wait and get --fill
refuses "incr: N: '5x' is not a number *" incr k 5x
refuses "incr: N: '+5' is not a number *" incr k +5
refuses 'incr: N: 9223372036854775808 is more than 64 bits can hold *' incr k 9223372036854775808
refuses "incr: --initial: 'x' is not a number *" incr k --initial x
takes incr k -5
is 'incr with a negative number before options is right usage' 3 '' 'there is no device *' \
	hbctl incr k -15 -D "$no" --ttl 1s --initial -7
takes incr k -- -5
refuses "incr: there is no option '-5' *" incr -5
refuses "incr: there is no option '-6' *" incr k -5 -6
refuses "put: there is no option '-5' *" put k -5
refuses "wait: --timeout: 0 is not from 1ms to *" wait k --timeout 0
refuses 'wait: a key has 1 to 1024 bytes, not 0 *' wait a '' b
refuses 'watch: --interval: 9ms is not from 10ms to 1d *' watch k --interval 9ms
refuses 'watch: --max: 0 is not from 1 to *' watch k --max 0
refuses 'get: --lease needs --fill *' get k --lease 1s
refuses 'get: --wait needs --fill *' get k --wait 1s
refuses 'get: --ahead needs --fill *' get k --ahead 1s
refuses 'get: --stale needs --fill *' get k --stale
refuses 'get: --retry-after needs --fill *' get k --retry-after 1s
refuses 'get: --print-token needs --fill *' get k --print-token
refuses 'get: a COMMAND needs --fill *' get k -- echo
refuses 'get: with --fill, --ttl needs a COMMAND*' get k --fill --ttl 1s
refuses 'get: --lease: 0 is not from 1ms to *' get k --fill --lease 0
refuses 'get: --retry-after needs a COMMAND*' get k --fill --retry-after 1s
refuses 'get: --retry-after: 0 is not from 1ms to *' get k --fill --retry-after 0 -- true
takes get k --fill --retry-after 1s -- true
refuses 'get: --print-token takes the place of a COMMAND *' get k --fill --print-token -- true
takes get k --fill --print-token --ahead 10s --lease 1m
refuses 'put: --if-lease: 0 is not from 1 to *' put k v --if-lease 0
refuses 'put: --if-absent, * exclude each other *' put k v --if-lease 1 --if-version 1
refuses 'put: --if-absent, * exclude each other *' put k v --if-lease 1 --if-absent
takes put k v --if-lease 18446744073709551615
refuses "rm: there is no option '--if-lease'*" rm k --if-lease 1
takes get k --fill --wait 0
takes get k --fill --wait forever
refuses "get: --ahead: '0%' is not from 1% to 100% *" get k --fill --ahead 0%
refuses "get: --ahead: '0.5%' is not from *" get k --fill --ahead 0.5%
refuses "get: --ahead: there is no 25% of a life without an end: *" get k --fill --ttl never --ahead 25% -- true
takes get k --fill --ahead 10s
takes get k --fill -- ls --foo -l
takes get --fill -- -k -- ls -l
refuses "get: --fill is for one KEY *" get --fill -- -k ls
refuses "get: --verbose is for one KEY: *" get -v a b
refuses "rm: --if-version is for one KEY *" rm a b --if-version 1
refuses 'rm: --prefix and --match take the place of KEY *' rm a --prefix b
refuses "rm: --if-version is for one KEY *" rm --match 'a*' --if-version 1
refuses 'rm: --dry-run needs --prefix or --match *' rm a --dry-run
refuses "rm: --prefix is empty, and no key is: 'hbctl clear' drops all entries *" rm --prefix ''
refuses "rm: in 'a\\\\q' a backslash begins none *" rm -e --prefix 'a\q'
refuses 'rm: --match: a pattern has no NUL byte *' rm -e --match 'a\x00*'
takes rm --prefix a
is 'rm of a long key among others exits with 2' 2 '' 'rm: a key has 1 to 1024 bytes, not 1025 *' \
	hbctl -D "$no" rm a "$(text 1025)" b
refuses 'get: an operand is missing: get *' get --fill -- -- ls

# Options before, between and after operands; none after --
is 'options before operands are right usage' 3 '' 'there is no device *' \
	hbctl put -D "$no" --ttl 1s k v
is 'options between operands are right usage' 3 '' 'there is no device *' \
	hbctl put k -D "$no" --flags=1 v
is 'options after operands are right usage with POSIXLY_CORRECT' 3 '' 'there is no device *' \
	env POSIXLY_CORRECT=1 hbctl put k v -D "$no"
takes get -- -k
refuses "get: there is no option '-k' *" -D "$no" get -k

refuses "set: --consumers: 'all' is none of 'readers', 'owner' *" set x --consumers all

# The owner that is demanded of a belt
refuses "get: --belt-owner: there is no user 'no-one': *" --belt-owner no-one get k
refuses 'get: --belt-owner: 4294967295 is not from 0 to 4294967294 *' get k --belt-owner 4294967295
takes get k --belt-owner root

# Locks
for command in lock unlock renew locks release; do
	for option in '--belt x' '--belt-owner 0'; do
		is "$command with $option and --store exits with 2" 2 '' \
			"$command: ${option% *} and --store exclude each other *" \
			hbctl "$command" $(operands "$command") $option --store y
	done
	is "$command --type without --store exits with 2" 2 '' \
		"$command: --type is for locks in a store: --store is missing *" \
		hbctl "$command" $(operands "$command") --type t
done
for command in lock unlock renew; do
	is "$command with an empty name exits with 2" 2 '' \
		"$command: a key has 1 to 1024 bytes, not 0 *" hbctl $command '' --owner a
done
refuses "lock: 'true' is one operand too many: write '--' before a command (*" lock x true
refuses "lock: there is no option '-c': write '--' before a command (*" lock x tar -cf y
refuses "lock: there is no option '--gzip': write '--' before a command (*" lock x tar --gzip
takes lock -- -x
takes lock -- -x -- true --foo
refuses "lock: 'true' is one operand too many *" lock -- -x true
takes lock x -- true --foo --owner
refuses 'lock: a command is missing behind the -- *' lock x --
refuses 'lock: a command is missing behind the -- *' lock -- -x --
takes lock x --owner --
result 'lock that fails does not run its command' "$(
	hbctl -D $no lock x -- touch "$temporary/run" 2>/dev/null
	[ ! -e "$temporary/run" ] || echo 'the command has run')"
for command in unlock renew release; do
	is "$command without --owner exits with 2" 2 '' "$command: --owner is missing *" \
		hbctl $command $(operands $command | sed 's/--owner a//')
done
refuses 'lock: --owner: an owner has 1 to 64 bytes, not 0 *' lock x --owner ''
is 'locks --owner with an owner of 65 bytes exits with 2' 2 '' \
	'locks: --owner: an owner has 1 to 64 bytes, not 65 *' hbctl locks --owner "$(text 65)"
refuses 'lock: --ttl: 0 is not from 1ms *' lock x --ttl 0
refuses "lock: --ttl: 'never' is not a duration *" lock x --ttl never
refuses 'lock: --ttl: the lease of a command is at least 100ms *' lock x --ttl 99ms -- true
refuses 'lock: --close needs a COMMAND *' lock x --close
refuses 'lock: --close is for locks in a belt: *' lock x --close --store y -- true
refuses "lock: --wait: 'long' is not a duration *" lock x --wait long
refuses 'lock: --conflict-exit-code: 256 is not from 0 to 255 *' lock x -E 256 -- true
refuses 'lock: --create-table is for a store: --store is missing *' lock --create-table
refuses 'release: --aged is for locks in a store: *' release --aged
refuses 'release: --owner and --aged exclude each other *' release --aged --owner a --store y

# Without a device
for command in $commands; do
	case $command in
	batch | doctor | help | completion | version) continue ;;
	esac
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
# With this personality uname() says that Linux is a 2.6.
like 'doctor, a kernel that is too old' 3 \
	'wrong   module   hashbelt is not loaded: Linux 2.6.* is too old: it needs Linux 5.10 or later
*' "$no cannot be used: *" setarch --uname-2.6 hbctl -D "$no" doctor
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
rm -r "$HBCTL_DOCTOR_ROOT/etc/systemd"
rule_says 'no unit of hbserve' \
	'ok      serve    hbserve, of the package hashbelt-server, is not installed: it serves clients of memcached and Redis'
rule_says 'no unit of hbfollow' \
	'ok      follow   hbfollow, of the package hashbelt-follow, is not installed: it keeps belts coherent with Redis or PostgreSQL'
place /usr/lib/systemd/system/hbserve@.service
rule_says 'a unit of hbserve that is not started' "ok      serve    no hbserve runs: 'systemctl start hbserve@BELT' \
serves clients of memcached, and hbserve-redis@BELT those of Redis"
place /etc/systemd/system/hbfollow@.service
rule_says 'a unit of hbfollow that is not started' "ok      follow   no hbfollow runs: 'systemctl start hbfollow@BELT' \
keeps a belt coherent with Redis or PostgreSQL"
unset HBCTL_DOCTOR_ROOT
# figures BELT STATE HAS_BELT [REPLICA] - write figures of hbfollow.
figures() {
	mkdir -p "$temporary/figures/$1"
	for sample in "state $2" "replica ${4-0}" "belt $3" 'since_seconds 1000000000' 'delay_seconds 0.5'; do
		echo "hbfollow_${sample% *}{belt=\"$1\",engine=\"redis\"} ${sample#* }"
	done >"$temporary/figures/$1/figures.prom"
}

export HBFOLLOW_FIGURES="$temporary/figures" TZ=UTC
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
is 'an error as JSON replaces bytes that are not UTF-8, and escapes quotes' 2 \
	'{"error":"there is no command '"'"'\"?'"' (see 'hbctl help')\",\"errno\":null}" '' \
	sh -c 'hbctl --json "$1" 2>&1' sh "$(printf '"\303')"
like 'a batch with --json prints errors as JSON' 2 '{"error":"stdin:1: there is no command *","errno":null}' '' \
	sh -c 'echo nocommand | hbctl batch --json 2>&1'
takes get k --fill -- cat --json

# version and failures of files
like 'version prints the version and the interface' 0 'hbctl [0-9]*.[0-9]* (interface 1)' '' \
	hbctl version
like '--version prints what version prints' 0 'hbctl [0-9]*.[0-9]* (interface 1)' '' hbctl --version
like '-V behind a command prints the version and does nothing' 0 \
	'hbctl [0-9]*.[0-9]* (interface 1)' '' hbctl put -V
like 'version --json prints the version and the interface' 0 '{"version":"[0-9]*","interface":1}' \
	'' hbctl version --json
is 'load of a missing file exits with 4' 4 '' 'cannot open /nonexistent: *' hbctl load /nonexistent
is 'help into a full device exits with 4' 4 '' 'cannot write the output: *' \
	sh -c 'exec hbctl help >/dev/full'

# complete WORD... - what bash completion offers for the last word
complete() {
	bash -c '
		. "$0"
		COMP_LINE=$* COMP_POINT=${#COMP_LINE}
		_hbctl hbctl "${@: -1}" "${@: -2:1}"
		echo "${COMPREPLY[*]}"' "$temporary/completion" "$@"
}

# completes LINE WORDS - bash completion offers these words for the last word of the line
completes() {
	is "bash completion of '$1'" 0 "$2" '' complete $1 ${3+"$3"}
}
completes 'hbctl c' 'complete clear create completion'
completes 'hbctl -b x --json hal' halt
completes 'hbctl put k v --if' '--if-absent --if-present --if-version --if-lease'
completes 'hbctl --belt-owner roo' root
completes 'hbctl create --policy' 'standard updating timecache' ''
completes 'hbctl create x --pinned' 'yes no' ''
completes 'hbctl set x --report e' 'expired evicted'
completes 'hbctl events --f' --follow
completes 'hbctl completion' 'bash zsh fish belts' ''
completes 'hbctl help ro' rotate
completes 'hbctl set x --report=e' '--report=expired --report=evicted'
completes 'hbctl belts -o name,entries,TT' name,entries,TTL
completes 'hbctl belts -o +TT' +TTL

# offered LINE - what fish completion offers for the last word of the line
offered() {
	fish -N -c "source '$temporary/hbctl.fish'; complete -C '$1'" | cut -f 1 | sort | paste -s -d ' ' -
}

is 'fish completion offers commands' 0 'clear complete completion create' '' offered 'hbctl c'
is 'fish completion offers options of put' 0 '--if-absent --if-lease --if-present --if-version' '' \
	offered 'hbctl put k v --if'
is 'fish completion offers policies and no files' 0 'standard timecache updating' '' \
	offered 'hbctl create x --policy '
is 'fish completes a file name for load' 0 "$temporary/help" '' offered "hbctl load $temporary/he"
is 'zsh reads the script for completion' 0 '' '' zsh -f -c \
	"autoload -U compinit && compinit -u -D && source '$temporary/_hbctl' && whence _hbctl >/dev/null"
finish
