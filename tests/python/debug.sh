#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# debug.sh PROGRAM [ARGUMENT]... - in a guest with the root directory "debug" of root.sh: run a program
# with Python's debug build, which counts all references, in development mode.
set -eu

exec /usr/bin/python3-dbg -X dev -W ignore "$@"
