#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# ctypes-copies-address.sh - how the module copy of Python treats subclasses of ctypes.c_void_p.
#
# A c_void_p, and a structure with a pointer, refuse to be copied and pickled. An empty subclass of c_void_p is
# copied, with the same address: an object that frees its address in __del__() does so once for each copy. So a
# class that has a pointer as a member refuses copies itself. Python 3.11.2 of Debian 12; 3.14.10 does the same.
#
# Needs apt and dpkg-deb. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
version=3.11.2-6+deb12u9
apt-get download -q -o APT::Sandbox::User=root "python3.11-minimal=$version" "libpython3.11-minimal=$version" \
	"libpython3.11-stdlib=$version" >log 2>&1 || {
	cat log
	exit 1
}
for package in *.deb; do
	dpkg-deb -x "$package" root
done
cat >copies.py <<'END'
import copy
import ctypes
import pickle


class Handle(ctypes.c_void_p):
    pass


for kind in (ctypes.c_void_p, Handle):
    for make in (copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))):
        try:
            print(kind.__name__, hex(make(kind(0x1234)).value))
        except ValueError as error:
            print(kind.__name__, error)
END
export PYTHONHOME="$work/root/usr"
python=$work/root/usr/bin/python3.11
"$python" --version
"$python" copies.py | tee found
for _ in 1 2 3; do
	echo "c_void_p ctypes objects containing pointers cannot be pickled"
done >expected
for _ in 1 2 3; do
	echo "Handle 0x1234"
done >>expected
cmp expected found
