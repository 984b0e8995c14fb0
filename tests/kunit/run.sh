#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh [OPTION]...
#
# Build the KUnit module, run it in a User-Mode Linux guest, and check the results. The guest's clock
# jumps to the next timer when the guest is idle, so sleeping takes no time.
#
#   --silence SECONDS  end a guest that prints nothing for this time (120)
#   --only PATTERNS    run only the cases that match one of PATTERNS, separated by blanks
#                      or commas. A pattern may have * and ?, and is compared with
#                      "suite.case", with the suite and with the case. A pattern that
#                      matches no case is a failure
#   --no-kmemleak      do not search for leaks: allocation gets much faster
#   --keep DIRECTORY   store kernel.log in this directory, and gcov's counts, *.gcda
#
# stdout is TAP, with one line for each case or parameter of a case. The exit status is
# 0 only if at least one case ran, all cases passed, each module was loaded and unloaded,
# nothing leaked, the guest shut down, and the kernel logged no complaint. Otherwise the
# reason is on stderr.
set -eu
unset CDPATH

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=tests/environment.sh
. "$top/tests/environment.sh"

say() {
	echo "run.sh: $1" >&2
}

fail() {
	say "$1"
	exit 1
}

usage() {
	sed -n '/^# run.sh/,/^set/s/^# \{0,1\}//p' "$0"
	exit 0
}

# Messages with which the kernel reports an error. Lockdep, RCU, UBSAN and kmemleak do not
# taint the kernel, so the log alone shows their reports.
complaints='(^|[^A-Za-z_])BUG[: ]|WARNING:|Oops|Kernel panic|Internal error'
complaints="$complaints|general protection|segfault at|Kernel mode fault"
complaints="$complaints|KASAN|UBSAN|ODEBUG:|refcount_t|percpu ref"
complaints="$complaints|unreferenced object|suspected memory leak"
complaints="$complaints|kmemleak: (Cannot|Found|Freeing|Memory)"
complaints="$complaints|scheduling while atomic|sleeping function called"
complaints="$complaints|suspicious RCU|Voluntary context switch within RCU"
complaints="$complaints|possible (circular|recursive|irq)|inconsistent lock"
complaints="$complaints|bad unlock balance|held lock freed|Invalid wait context"
complaints="$complaints|non-static key|lock held when returning|still has locks"
complaints="$complaints|nested lock was not taken|DEADLOCK|bad contention"
complaints="$complaints|rcu.*stall|lockup|hung task|blocked for more than"
complaints="$complaints|list_(add|del) corruption|raw_local_irq_restore"
complaints="$complaints|slab error|[Pp]oison overwritten|Redzone|already free"
complaints="$complaints|Slab cache still has|Object(s)? remaining|Bad page"
complaints="$complaints|bad usercopy|usercopy: Kernel memory|buffer overflow"
complaints="$complaints|destroy_workqueue|Freeing .* with active|INFO: "
complaints="$complaints|messages dropped"

# Taints that a test module may cause: out of tree (4096), unsigned (8192), a test suite
# (262144).
permitted=$((4096 | 8192 | 262144))

silence=120 kmemleak=on keep='' only=''
work='' job=''

# No process may outlive this script. Those of the guest die with the guest (see
# tests/kernel/kernel.sh).
# shellcheck disable=SC2317 # called by the trap
cleanup() {
	trap '' HUP INT TERM
	[ -z "$job" ] || {
		kill "$job" 2>/dev/null || true
		wait "$job" 2>/dev/null || true
	}
	[ -z "$work" ] || rm -rf "$work"
}

# attend COMMAND... - run a command in the background and wait for it: a shell handles a signal only
# after a command in the foreground has ended.
attend() {
	"$@" &
	job=$!
	ended=0
	wait "$job" 2>/dev/null || ended=$?
	job=
	return "$ended"
}

# kernel VERB [ARGUMENT]... - call kernel.sh.
kernel() {
	attend "$here/../kernel/kernel.sh" uml "$@"
}

number() {
	case $2 in
	'' | *[!0-9]*) fail "$1: not a number: $2" ;;
	esac
}

patterns() {
	case $1 in
	*[!A-Za-z0-9_.,\ *?]* | '') fail "--only: not a list of patterns: $1" ;;
	esac
}

# mirror - make links to the sources in the build directory, which is kept between runs, so that only
# changed sources are built. Links to deleted sources are removed.
mirror() {
	find "$build" -type l -delete
	for folder in . $(cd "$top" && find belt -type d) device tests/kunit; do
		mkdir -p "$build/$folder"
		for file in "$top/$folder"/*.[ch] "$top/$folder"/*.mk; do
			[ ! -f "$file" ] || ln -s "$file" "$build/$folder/"
		done
	done
	ln -s "$here/Kbuild" "$build/tests/kunit/"
}

# build - build the module, and copy it to the guest's directory.
build() {
	mirror
	rm -f "$build"/tests/kunit/*.ko
	kernel module "$build/tests/kunit" ||
		fail "the module cannot be built"
	cp "$build"/tests/kunit/*.ko "$root/modules/"
}

# build_select - build the module that chooses cases.
build_select() {
	select=$top/.cache/build/kunit-select
	mkdir -p "$select"
	for file in Kbuild kunit_select.c; do
		ln -sf "$here/select/$file" "$select/"
	done
	kernel module "$select" ||
		fail "the module that chooses cases cannot be built"
	cp "$select/kunit_select.ko" "$root/select.ko"
}

# prepare - make the root directory of the guest.
prepare() {
	for directory in bin dev modules proc report/counts sys tmp; do
		mkdir -p "$root/$directory"
	done
	cp /bin/busybox "$root/bin/busybox"
	cp "$here/init" "$root/init"
	chmod 755 "$root/init"
	echo "nonce=$nonce kmemleak=$kmemleak only='$only'" >"$root/task"
	: >"$root/report/failures"
	: >"$root/report/suites"
	mkdir -p "$build"
	exec 9>"$build/lock"
	attend flock 9
	build 9>&-
	[ -z "$only" ] || build_select 9>&-
	exec 9>&-
}

# boot - run the guest to its end; sets ended and log. Newer kernels run no suite by themselves without
# kunit.autorun, which older ones ignore. Paths of sources in the log are relative
# to the top directory.
boot() {
	attend "$here/../kernel/uml.sh" "$image" "$root" "$work" "$silence" mem=512M \
		loglevel=7 printk.devkmsg=on kunit.autorun=1 kmemleak="$kmemleak" time-travel=inf-cpu \
		</dev/null >"$work/console" 2>&1 || true
	log=${keep:-$work}/kernel.log
	tr -d '\r' <"$work/console" | sed "s|$build/||g" >"$log"
}

# complaining - print the lines of the log with complaints. One is left out: when the first
# process starts, User-Mode Linux of 6.1 walks the memory areas of that process without the
# lock that lib/maple_tree.c demands.
complaining() {
	awk -v pattern="$complaints" -v start="kunit: $nonce starts" '
		index($0, start) { started = 1 }
		!started && /WARNING: suspicious RCU usage/ {
			held = $0
			due = NR + 3
			next
		}
		held != "" && NR == due {
			if ($0 !~ /lib\/maple_tree\.c:[0-9]+ suspicious rcu_/)
				print held
			held = ""
		}
		$0 ~ pattern
		END { if (held != "") print held }
	' "$log"
}

# excerpt LINE - print the log from a complaint on.
excerpt() {
	awk -v line="$1" '
		!left && $0 == line { left = 60 }
		left && left-- { print "  " $0 }
	' "$log" >&2
}

check_end() {
	# tests/mutation/run.sh looks for these words.
	grep -q "kunit: $nonce starts" "$log" || say "the guest did not come to its tests"
	[ "$ended" != 124 ] || {
		say "nothing was printed for $silence s"
		return 1
	}
	said='' taint=0
	[ ! -e "$root/report/verdict" ] ||
		read -r said taint <"$root/report/verdict" || true
	[ "$said-$ended" = "$nonce-0" ] || {
		say "the guest did not shut down (status $ended): see kernel.log, with --keep"
		return 1
	}
}

check_modules() {
	[ ! -s "$root/report/failures" ] || {
		say "$(cat "$root/report/failures")"
		return 1
	}
}

# When kmemleak reports, the module is unloaded. Its functions are looked up by their addresses,
# which all have the same length.
name_symbols() {
	sort "$root/report/symbols" | awk '
		FNR == NR { address[++n] = $1; name[n] = $3 " " $4; next }
		match($0, /\[<[0-9a-f]+>\]/) {
			at = substr($0, RSTART + 2, RLENGTH - 4)
			for (i = n; i && address[i] > at; )
				i--
			if ($0 ~ /0x[0-9a-f]+$/ && i)
				sub(/0x[0-9a-f]+$/, name[i])
		}
		{ print }
	' - "$root/report/leaks"
}

check_leaks() {
	[ "$kmemleak" = on ] || return 0
	[ -e "$root/report/leaks" ] || {
		say "the search for leaks did not finish"
		return 1
	}
	[ ! -s "$root/report/leaks" ] || {
		say "leaked:"
		name_symbols | head -n 60 | sed 's/^/  /' >&2
		return 1
	}
}

check_log() {
	complaining >"$work/complaints"
	[ ! -s "$work/complaints" ] || {
		say "the kernel complained:"
		head -n 10 "$work/complaints" | sed 's/^/! /' >&2
		excerpt "$(head -n 1 "$work/complaints")"
		return 1
	}
}

check_taint() {
	[ $((taint & ~permitted)) = 0 ] || {
		say "the kernel is tainted: $taint"
		return 1
	}
}

check_cases() {
	awk -v nonce="$nonce" -f "$here/ktap.awk" \
		"$root/report/suites" "$log" >"$work/tap" || {
		say "not all cases passed, or none ran"
		return 1
	}
}

# check_results - check all results, and return the exit status. The guest has ended, so no message can
# follow. The log is checked last, since its excerpt is long.
check_results() {
	result=0
	check_cases || result=1
	cat "$work/tap"
	check_end || result=1
	check_modules || result=1
	check_leaks || result=1
	check_taint || result=1
	check_log || result=1
	return "$result"
}

while [ $# -gt 0 ]; do
	case $1 in
	--help) usage ;;
	--no-kmemleak) kmemleak=off ;;
	--silence | --keep | --only)
		[ $# -ge 2 ] || fail "$1: value missing"
		case $1 in
		--silence) number "$1" "$2" ;;
		--only) patterns "$2" ;;
		esac
		eval "${1#--}=\$2"
		shift
		;;
	*) fail "no such option: $1 (see --help)" ;;
	esac
	shift
done

"$here/../need.sh" busybox-static util-linux || exit 1
only=$(printf '%s' "$only" | tr -s ' ,' ',' | sed 's/^,//; s/,$//')
[ -z "$keep" ] || { mkdir -p "$keep" && keep=$(cd "$keep" && pwd) && rm -f "$keep"/*.gcda; }

trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
work=$(mktemp -d)
root=$work/root
build=$top/.cache/build/kunit
nonce=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
kernel image >"$work/image" || exit 1
image=$(cat "$work/image")
prepare
boot
[ -z "$keep" ] || cp "$root"/report/counts/*.gcda "$keep" 2>/dev/null || true
check_results
