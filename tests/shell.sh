#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# shell.sh - a virtual machine with the module and a prompt on this terminal. It has what docs/tutorial.md
# needs: tests/shell/payload.sh says what. It ends with its shell, or with the terminal.
set -eu
unset CDPATH
top=$(cd "$(dirname "$0")/.." && pwd)

make -s -C "$top/tests" SAY=yes shell
echo "Booting the virtual machine (some seconds) ..."
exec "$top/tests/vm/run.sh" --interactive "$top/.cache/build/payload-shell" sh ./begin.sh
