#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# install.t LIBRARIES - pip installs the package of bindings/python, with its types, from there and from a
# source distribution, and writes nothing beside the source. With the headers of libhashbelt, the package
# has its extension. LIBRARIES is the directory of libhashbelt.
set -u
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
top=$(cd "$tests/.." && pwd)
# shellcheck source=tests/hbctl/tap.sh
. "$tests/hbctl/tap.sh"

"$tests/need.sh" python3 gcc python3-dev python3-pip python3-setuptools python3-wheel || exit 1
# A copy, without what other tests write into the directory of the source.
source=$temporary/source
mkdir -p "$source/bindings" "$source/tools/lib/hashbelt"
cp "$top/hashbelt.h" "$top/hashbelt_version.h" "$source"
cp "$top/tools/lib/hashbelt/client.h" "$source/tools/lib/hashbelt"
cp -r "$top/bindings/python" "$source/bindings"
rm -rf "$source/bindings/python/hashbelt/_abi.py" "$source/bindings/python/build" \
	"$source"/bindings/python/*.egg-info
find "$source" -name __pycache__ -exec rm -rf {} +

# locked COMMAND... - run a command while no file of the source can be written.
# shellcheck disable=SC2317 # an argument of install
locked() {
	[ "$(id -u)" = 0 ] && map='' || map=--map-root-user
	# shellcheck disable=SC2016,SC2086 # for that shell to expand; a word or none
	unshare $map --mount sh -c 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"' \
		"$source" "$@"
}

# install SOURCE [locked] - install a directory or a distribution.
install() {
	from=$1
	shift
	"$@" /usr/bin/python3 -m pip install --quiet --root-user-action ignore --no-index --no-build-isolation \
		--no-deps --target "$temporary/target" --upgrade "$from" 2>&1
}

# written - print the files of the source that are new since the first call.
written() {
	find "$source" ! -type d | LC_ALL=C sort >"$temporary/now"
	[ -e "$temporary/first" ] || cp "$temporary/now" "$temporary/first"
	diff "$temporary/first" "$temporary/now"
}

# distribute - make a source distribution.
distribute() {
	(cd "$source/bindings/python" && /usr/bin/python3 setup.py -q sdist --dist-dir "$temporary/dist") >"$temporary/log" 2>&1 ||
		cat "$temporary/log"
}

# installed - print the version and the files that matter.
installed() {
	cd / && PYTHONPATH=$temporary/target LD_LIBRARY_PATH=$libraries /usr/bin/python3 -c '
import importlib.metadata, os, hashbelt
directory = os.path.dirname(hashbelt.__file__)
print(os.path.dirname(directory), importlib.metadata.version("hashbelt"), hashbelt.__version__)
print(os.path.exists(f"{directory}/py.typed"), hashbelt.backend())' 2>&1
}

# compare_installed [native] - print what differs in the version, the files that matter, and the backend.
compare_installed() {
	installed >"$temporary/found"
	printf '%s\n' "$temporary/target $version $version" "True ${1:-ctypes}" | diff - "$temporary/found"
}

# extended COMMAND... - run a command where libhashbelt-dev seems to be, and a warning is an error.
# shellcheck disable=SC2317 # an argument of install
extended() {
	CPPFLAGS=-I$temporary/include LDFLAGS=-L$libraries CFLAGS="-Wall -Wextra -Werror" "$@"
}

# demand BACKEND COMMAND... - run a command that demands a backend.
# shellcheck disable=SC2317 # an argument of install
demand() {
	demanded=$1
	shift
	HASHBELT_BACKEND=$demanded "$@"
}

# build - build a wheel; print what the build says of deprecated settings, and a wrong license. Python prints
# setuptools' own warnings; those of the class DeprecationWarning concern the code of setuptools, and stay hidden.
build() {
	(cd "$source/bindings/python" && /usr/bin/python3 -c '
import setuptools.build_meta, sys
setuptools.build_meta.build_wheel(sys.argv[1])' "$temporary") >"$temporary/log" 2>&1 || cat "$temporary/log"
	grep -i deprecated "$temporary/log"
	/usr/bin/python3 -m zipfile -e "$temporary"/hashbelt-*.whl "$temporary/wheel"
	grep -qx 'License: LGPL-2.1-or-later' "$temporary"/wheel/hashbelt-*.dist-info/METADATA ||
		cat "$temporary"/wheel/hashbelt-*.dist-info/METADATA
}

libraries=$1
version=$(sed -n 's/^.define HASHBELT_VERSION[^"]*"\(.*\)"/\1/p' "$top/hashbelt_version.h")
written
result "pip installs bindings/python" "$(install "$source/bindings/python")"
result "the installed package has the version of the module, and its types" "$(compare_installed)"
result "a build says of no setting that it is deprecated, and the package has its license" "$(build)"
result "a source distribution is made" "$(distribute)"
result "neither writes a file beside the source" "$(written)"
rm -rf "$temporary/target"
result "pip installs bindings/python from a directory that is read-only" \
	"$(install "$source/bindings/python" locked; compare_installed)"
rm -rf "$temporary/target"
result "pip installs the source distribution, without the headers of the library" \
	"$(install "$temporary/dist/hashbelt-$version.tar.gz"; compare_installed)"
rm -rf "$temporary/target"
mkdir -p "$temporary/include/hashbelt"
cp "$top/tools/lib/hashbelt/client.h" "$temporary/include/hashbelt"
cp "$top/hashbelt.h" "$temporary/include/hashbelt/uapi.h"
result "with the library, pip builds the extension, with all warnings on" \
	"$(install "$source/bindings/python" extended locked; compare_installed native)"
result "the extension is one for all later versions of Python" "$(
	ls "$temporary/target/hashbelt/_native.abi3.so" 2>&1 >/dev/null
	grep -hx 'Tag: cp311-abi3-linux_.*' "$temporary"/target/hashbelt-*.dist-info/WHEEL >/dev/null ||
		cat "$temporary"/target/hashbelt-*.dist-info/WHEEL)"
rm -rf "$temporary/target"
result "so it does from a source distribution, with the headers, too" \
	"$(install "$temporary/dist/hashbelt-$version.tar.gz" extended; compare_installed native)"
rm -rf "$temporary/target"
result "HASHBELT_BACKEND=ctypes leaves the extension off" \
	"$(install "$source/bindings/python" extended demand ctypes; compare_installed)"
result "HASHBELT_BACKEND=native fails without the library" "$(
	install "$source/bindings/python" demand native | grep -q 'cannot find -lhashbelt' ||
		echo "expected an error that names the library")"
finish
