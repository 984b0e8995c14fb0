#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# build.t - builds for other targets than this machine: 32 bits, other processors, the other
# byte order, C++ and older C; and the module with sparse. A build passes if it prints nothing.
# Then the files that make install installs, and programs with the installed library. Runs in the
# source tree.
# shellcheck disable=SC2317 # functions that silent calls
set -u
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
top=$(cd "$tests/.." && pwd)
# shellcheck source=tests/hbctl/tap.sh
. "$tests/hbctl/tap.sh"

# silent NAME COMMAND... - a test: the command succeeds and prints nothing.
silent() {
	name=$1
	shift
	result "$name" "$("$@" 2>&1 || echo "status $?")"
}

# language COMPILER STANDARD SUFFIX HEADER... - compile a file that includes each header twice
# and nothing else, and uses each numeric constant of hashbelt.h. With -Wpedantic, because a
# program that includes them may be compiled so.
language() {
	compiler=$1 standard=$2 unit=$temporary/header.$3
	shift 3
	{
		for header; do
			echo "#include \"$header\""
			echo "#include \"$header\""
		done
		echo "unsigned long long sum(void);"
		echo "unsigned long long sum(void) { return 0"
		sed -n '/"/d; s/^#define \(HASHBELT_[A-Z0-9_]*\)[[:space:]].*/+ \1/p' \
			"$top/hashbelt.h"
		echo "; }"
	} >"$unit"
	names=$(grep -c '^+' "$unit")
	[ "$names" -gt 50 ] || echo "hashbelt.h: expected more than 50 constants, found $names"
	"$compiler" -std="$standard" -Wall -Wextra -Wpedantic -Werror -I"$top" \
		-I"$top/tools/lib" -O2 -c -o "$temporary/header.o" "$unit"
}

# compile COMPILER... - compile to objects, with the flags of tools/Makefile.
compile() {
	(cd "$temporary" && "$@" -std=gnu11 -O2 -Wall -Wextra -Wshadow -Wstrict-prototypes \
		-Werror -D__SANE_USERSPACE_TYPES__ -DVERSION='"0"' \
		-I"$top" -I"$top/tools/lib" -I"$top/tools/common" -I"$top/tools/hbctl" -I"$top/tools/manage" -c)
}

# layout COMPILER... - compile tests/device/layout.c, which asserts the layout of hashbelt.h.
layout() {
	compile "$@" "$tests/device/layout.c"
}

library() {
	compile "$@" -D_GNU_SOURCE "$top"/tools/lib/*.c
}

# program COMPILER... - compile hbctl without linking it: its libraries for 32 bits are missing.
program() {
	for folder in hbctl manage; do
		compile "$@" -D_GNU_SOURCE "$top"/tools/common/duration.c "$top/tools/$folder"/*.c
	done
}

# module - build the module in a new directory, so that each file is compiled and can warn.
module() {
	"$tests/module.sh" "$("$tests/vm/kernel.sh" headers)" "$temporary/module" \
		W=1 C=2 CF=-D__CHECK_ENDIAN__
}

# unfit_module SENTENCE VARIABLE... - print what is wrong, unless the build for a kernel with these variables ends with
# that sentence alone, and compiles nothing.
unfit_module() {
	sentence=$1
	shift
	rm -rf "$temporary/old"
	"$tests/module.sh" "$("$tests/vm/kernel.sh" headers)" "$temporary/old" "$@" \
		>"$temporary/said" 2>&1 && echo "expected an error"
	grep -v '^make' "$temporary/said" >"$temporary/sentence"
	if ! grep -q "$sentence" "$temporary/sentence" || [ "$(wc -l <"$temporary/sentence")" != 1 ]; then
		cat "$temporary/said"
	fi
	find "$temporary/old" -name '*.o'
}

# cross_module PROCESSOR - build the module for Debian's kernel for that processor.
cross_module() {
	"$tests/cross/kernel.sh" "$1" module "$temporary/module-$1" W=1
}

# install_tools OPTION... - run make install in a temporary root, and print the files in it.
install_tools() {
	rm -rf "$temporary/root"
	make -s -C "$top/tools" O="$temporary/tools" DESTDIR="$temporary/root" "$@" install &&
		(cd "$temporary/root" && find . ! -type d | LC_ALL=C sort)
}

# Where make install puts what belongs to the system: modules to load, units, users, rules of udev.
system='/usr/lib/modules-load.d /usr/lib/systemd/system /usr/lib/sysusers.d /usr/lib/udev/rules.d'

# installs PREFIX LIB MODULES UNITS USERS RULES - print the files that make install puts into these directories.
installs() {
	{
		printf ".$1/%s\n" bin/hbctl include/hashbelt/client.h include/hashbelt/uapi.h lib/hashbelt/hbctl-manage.so \
			share/bash-completion/completions/hbctl share/doc/hashbelt/example.conf \
			share/doc/hashbelt/hardening.md share/doc/hashbelt/hashbelt.cil share/doc/hashbelt/modprobe.conf \
			share/fish/vendor_completions.d/hbctl.fish share/man/man1/hbctl.1 share/zsh/site-functions/_hbctl
		printf ".$1/$2/%s\n" libhashbelt.a libhashbelt.so libhashbelt.so.0 libhashbelt.so.0.2.0 pkgconfig/hashbelt.pc
		printf ".$4/%s\n" hashbelt.service hashbelt-metrics.service hashbelt-metrics.timer
		echo ".$3/hashbelt.conf
.$5/hashbelt.conf
.$6/60-hashbelt.rules"
		manuals "$1"
	} | LC_ALL=C sort
}

# installed LANGUAGE STANDARD OPTION... - compile a program with the installed headers and library,
# as hashbelt.pc says, and run it. Its output is compared.
installed() {
	language=$1 standard=$2
	shift 2
	case $language in
	c) compiler=gcc ;;
	c++) compiler=g++ ;;
	esac
	root=$temporary/installed
	# shellcheck disable=SC2046 # options, split on purpose
	PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$root/opt/lib64/pkgconfig \
		pkg-config --cflags --libs hashbelt >"$temporary/flags" &&
		"$compiler" -x "$language" -std="$standard" -Wall -Wextra -Wpedantic -Werror \
			-o "$temporary/client" "$tests/build/client.c" -x none "$@" \
			$(cat "$temporary/flags") &&
		LD_LIBRARY_PATH=$root/opt/lib64 "$temporary/client"
}

# needed - print the library of ours that the program of installed() needs when it starts.
needed() {
	readelf -d "$temporary/client" | sed -n 's/.*(NEEDED).*\[\(libhashbelt.*\)\]/\1/p'
}

# exported - print the functions that libhashbelt.so exports.
exported() {
	nm -D --defined-only "$temporary/installed/opt/lib64/libhashbelt.so" |
		awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | LC_ALL=C sort
}

# symbols - compare the functions that libhashbelt.so exports with those that client.h declares.
symbols() {
	exported >"$temporary/exported"
	prototypes | sed -n '/^static inline /!s/.*\(hashbelt_[a-z_]*\)(.*/\1/p' | LC_ALL=C sort |
		diff - "$temporary/exported" |
		sed -n "s|^< \(.*\)|libhashbelt.so does not export \1: add it to \
tools/lib/libhashbelt.map|p
			s|^> \(.*\)|libhashbelt.so exports \1, which hashbelt/client.h does not \
declare: remove it from tools/lib/libhashbelt.map|p"
}

# archive - print the symbols of libhashbelt.a that libhashbelt.so does not export, but for hidden ones.
archive() {
	readelf -sW "$temporary/installed/opt/lib64/libhashbelt.a" |
		awk '$5 == "GLOBAL" && $6 == "DEFAULT" && $7 != "UND" { print $8 }' |
		LC_ALL=C sort >"$temporary/defined"
	exported | LC_ALL=C comm -3 - "$temporary/defined"
}

# manuals PREFIX - print the paths of the manual pages below it, but that of hbctl.
manuals() {
	(cd "$top/docs" && LC_ALL=C &&
		printf ".$1/share/man/%s\n" man3/*.3 man4/hashbelt.4 man5/hbctl-apply.5 \
			man7/hashbelt.7)
}

# prototypes - print the functions of client.h, one a line.
prototypes() {
	gcc -E -P -I"$top/tools/lib" "$top/tools/lib/hashbelt/client.h" | tr '\n\t' '  ' |
		sed 's/[;{}]/\n/g' | sed 's/  */ /g; s/^ //; s/ $//' |
		grep -E '^[a-z_ ]+[ *]+hashbelt_[a-z_]+\(.*\)$' | LC_ALL=C sort
}

# documented - print the functions in the synopses of the manual pages, one a line.
documented() {
	for page in "$top"/docs/man3/*.3; do
		sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESCRIPTION/p' "$page" | tr -d '"' | awk '
			{ text = $0; sub(/^\.F[tao] /, "", text) }
			/^\.Ft / { line = text (text ~ /\*$/ ? "" : " ") }
			/^\.Fo / { line = line text "("; comma = "" }
			/^\.Fa / { line = line comma text; comma = ", " }
			/^\.Fc/ { print line ")" }'
	done | LC_ALL=C sort
}

# synopses - compare both.
synopses() {
	prototypes | sed 's/^static inline //' | LC_ALL=C sort >"$temporary/prototypes"
	documented | diff "$temporary/prototypes" - |
		sed -n 's|^< |docs/man3 lacks |p; s|^> |hashbelt/client.h lacks |p'
}

# structures FILE - print the structures that a file declares, each in a line, in alphabetic order.
structures() {
	sed 's/^__extension__ //' "$1" | awk '
		/^struct hashbelt_.*{$/ { line = ""; inside = 1 }
		inside { line = line $0 " " }
		inside && /^};$/ { print line; inside = 0 }' | LC_ALL=C sort
}

# declarations - compare the structures of hashbelt.h with those of docs/hashbelt.4.
declarations() {
	structures "$top/hashbelt.h" >"$temporary/expected"
	structures "$top/docs/hashbelt.4" | diff "$temporary/expected" -
}

# fields - print the fields of docs/hashbelt.4 that no item describes behind their structure.
fields() {
	awk '
		function finish(	field) {
			for (field in missing)
				print "docs/hashbelt.4: " name " lacks an item for " field
			split("", missing)
		}
		/^struct hashbelt_.*{$/ { finish(); name = $2; inside = 1; next }
		/^};$/ { inside = 0 }
		inside && match($0, /[a-z0-9_]+(\[[^]]*\])?;/) {
			field = substr($0, RSTART, RLENGTH)
			sub(/[[;].*/, "", field)
			missing[field]
		}
		/^\.It Fa / {
			for (i = 3; i <= NF; i++)
				delete missing[$i]
		}
		END { finish() }' "$top/docs/hashbelt.4"
}

# compile_examples PAGE... - compile the program in the EXAMPLES of each page.
compile_examples() {
	for page; do
		sed -n '/^\.Sh EXAMPLES/,/^\.Sh ERRORS/p' "$top/docs/$page" |
			sed -n '/^\.Bd/,/^\.Ed/{/^\./d;s/\\e/\\/g;p}' >"$temporary/example.c"
		grep -q main "$temporary/example.c" || echo "docs/$page: no program"
		compile gcc "$temporary/example.c"
	done
}

# rules - print the lines that do not have the form of a udev rule.
rules() {
	word='[A-Z]+(\{[^}]+\})?(==|!=|=|\+=|-=|:=)"[^"]*"'
	grep -nEv "^#|^\$|^$word(, $word)*\$" "$top/tools/60-hashbelt.rules" || true
}

# unfilled - print the lines of the installed units that have a @NAME@.
unfilled() {
	grep -n '@[A-Z]*@' "$temporary/root/units/hashbelt.service" \
		"$temporary"/root/units/hbserve*@.* "$temporary/root/units/hbfollow@.service" || true
}

# cross PROCESSOR CHECK - run a check with clang, which compiles for all processors. (Debian's
# cross gcc conflicts with gcc-multilib, which other tests need; cross/kernel.sh unpacks it.)
cross() {
	"$2" clang --target="$1-linux-gnu" -isystem "/usr/$1-linux-gnu/include"
}

"$tests/need.sh" gcc g++ gcc-multilib libc6-dev clang sparse libncurses-dev libinih-dev libsmartcols-dev \
	pkg-config libpq-dev libevent-dev libssl-dev libsystemd-dev libhiredis-dev \
	libc6-dev-arm64-cross libc6-dev-s390x-cross || exit
# Install and fetch packages first: the checks must print nothing.
for processor in arm64 s390x; do
	"$tests/cross/kernel.sh" "$processor" release >/dev/null || exit
done

for standard in c99 c11 c17; do
	silent "hashbelt.h and hashbelt/client.h compile as C${standard#c}" \
		language gcc $standard c hashbelt.h hashbelt/client.h
done
for standard in 11 17 20; do
	silent "hashbelt.h and hashbelt/client.h compile as C++$standard" \
		language g++ c++$standard cc hashbelt.h hashbelt/client.h
done
silent "structures of hashbelt.h have the same layout in 32 bits" layout gcc -m32
silent "the client library builds for 32 bits" library gcc -m32
silent "hbctl compiles for 32 bits" program gcc -m32
for processor in aarch64 s390x; do
	silent "structures of hashbelt.h have the same layout on $processor" cross $processor layout
	silent "the client library builds for $processor" cross $processor library
done
silent "the module builds for the stock kernel with W=1 and sparse without a warning" module
for old in 4.19 5.9; do
	silent "the build for Linux $old ends with a sentence that names the kernels that work" \
		unfit_module "hashbelt builds for Linux 5.10 and later, and this is $old: " \
		VERSION="${old%.*}" PATCHLEVEL="${old#*.}"
done
silent "the build for a kernel of 32 bits ends with a sentence that names the kernels that work" \
	unfit_module "hashbelt builds for 64-bit kernels, and this one has 32 bits: " CONFIG_64BIT=
silent "the module builds for arm64 without a warning" cross_module arm64
silent "the module builds for s390x without a warning" cross_module s390x
# shellcheck disable=SC2086 # directories, split on purpose
is "make install with LIBDIR installs these files" 0 "$(installs /opt lib64 $system)" '' \
	install_tools LIBPQ= LIBEVENT= LIBHIREDIS= PREFIX=/opt LIBDIR=/opt/lib64
mv "$temporary/root" "$temporary/installed"
output="ENOENT, handle NULL
there is no device /nonexistent: load the module with 'modprobe hashbelt' or 'insmod hashbelt.ko'
/dev/null is not the device of hashbelt
a key of 3 bytes, a value of 5"
is "a C11 program runs with the installed shared library" 0 "$output" '' installed c c11
is "a program that is linked with the shared library needs libhashbelt.so.0" 0 libhashbelt.so.0 '' \
	needed
is "a C++17 program runs with the installed shared library" 0 "$output" '' installed c++ c++17
is "a C11 program runs with the installed static library" 0 "$output" '' installed c c11 -static
is "a C++17 program runs with the installed static library" 0 "$output" '' \
	installed c++ c++17 -static
silent "libhashbelt.so exports the functions of hashbelt/client.h" symbols
silent "the synopses of the manual pages are the prototypes of hashbelt/client.h" synopses
silent "hashbelt.4 shows the structures of hashbelt.h" declarations
silent "hashbelt.4 describes each field of the structures that it shows" fields
silent "the programs in hashbelt.4 and libhashbelt.3 compile" \
	compile_examples hashbelt.4 man3/libhashbelt.3
silent "libhashbelt.a defines the symbols of libhashbelt.so and no others" archive
# shellcheck disable=SC2086 # directories, split on purpose
is "make install installs these files below /usr" 0 "$(installs /usr/local lib $system)" '' \
	install_tools LIBPQ= LIBEVENT= LIBHIREDIS=
others='bin/hbctl-store share/man/man8/hbfollow.8 share/man/man8/hbserve.8'
for program in hbfollow hbserve; do
	others="$others bin/$program share/bash-completion/completions/$program share/zsh/site-functions/_$program
		share/fish/vendor_completions.d/$program.fish"
done
is "make install installs files, with hbctl-store, hbserve and hbfollow, in the directories that are given" 0 \
	"$({
		installs /opt lib /modules /units /users /rules
		# shellcheck disable=SC2086 # names, split on purpose
		printf './opt/%s\n' $others
		printf './units/%s\n' hbfollow@.service hbserve@.service hbserve@.socket hbserve-redis@.service \
			hbserve-redis@.socket
	} | LC_ALL=C sort)" '' install_tools LIBPQ=yes LIBEVENT=yes LIBHIREDIS=yes PREFIX=/opt RULES=/rules UNITS=/units \
	MODULES_LOAD=/modules SYSUSERS=/users SYSCONF=/conf
is "the installed hashbelt.service applies the directory that is given" 0 \
	'ExecStart=/opt/bin/hbctl apply --load /var/lib/hashbelt /conf/hashbelt
ExecReload=/opt/bin/hbctl apply /conf/hashbelt
ExecStop=/opt/bin/hbctl save /var/lib/hashbelt /conf/hashbelt' '' \
	grep ^Exec "$temporary/root/units/hashbelt.service"
is "make install makes the directory of the files that hashbelt.service applies" 0 '' '' \
	test -d "$temporary/root/conf/hashbelt"
silent "the installed services have no place that was not filled in" unfilled
silent "each line of 60-hashbelt.rules has the form of a udev rule" rules
finish
