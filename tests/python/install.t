#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# install.t LIBRARIES - pip installs the package of bindings/python, with its types, from there and from a
# source distribution. LIBRARIES is the directory of libhashbelt.
set -u
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
top=$(cd "$tests/.." && pwd)
# shellcheck source=tests/hbctl/tap.sh
. "$tests/hbctl/tap.sh"

"$tests/need.sh" python3 python3-pip python3-setuptools python3-wheel || exit 1
# setuptools builds in the directory of the source: take a copy.
source=$temporary/source
mkdir -p "$source/bindings" "$source/tools/lib/hashbelt"
cp "$top/hashbelt.h" "$top/hashbelt_version.h" "$source"
cp "$top/tools/lib/hashbelt/client.h" "$source/tools/lib/hashbelt"
cp -r "$top/bindings/python" "$source/bindings"
rm -f "$source/bindings/python/hashbelt/_abi.py"

# install SOURCE - install a directory or a distribution.
install() {
	/usr/bin/python3 -m pip install --quiet --root-user-action ignore --no-index --no-build-isolation --no-deps \
		--target "$temporary/target" --upgrade "$1" 2>&1
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
print(os.path.exists(f"{directory}/py.typed"))' 2>&1
}

# compare_installed - print what differs in the version and the files that matter.
compare_installed() {
	installed >"$temporary/found"
	printf '%s\n' "$temporary/target $version $version" True | diff - "$temporary/found"
}

libraries=$1
version=$(sed -n 's/^.define HASHBELT_VERSION[^"]*"\(.*\)"/\1/p' "$top/hashbelt_version.h")
result "pip installs bindings/python" "$(install "$source/bindings/python")"
result "the installed package has the version of the module, and its types" "$(compare_installed)"
result "a source distribution is made" "$(distribute)"
result "pip installs it without the headers of the library" "$(install "$temporary/dist/hashbelt-$version.tar.gz")"
result "the package that is installed from it is the same" "$(compare_installed)"
finish
