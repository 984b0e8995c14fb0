#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# uml.sh IMAGE ROOT WORK SILENCE ARGUMENT... - run a kernel that is User-Mode Linux to its end, with
# the directory ROOT as its root. Its process 1 is /init. WORK/console must be where stdout goes: if
# nothing is added to it for SILENCE seconds, the guest ends. Replaces the calling process, so that a
# signal to that ends the guest.
#
# setpriv ends the guest even if the caller is killed and cannot clean up. TMPDIR is for the guest's
# memory, a sparse file: /dev/shm may be too small, or mounted noexec.
set -eu
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
image=$1 root=$2 work=$3 silence=$4
shift 4
exec env -i PATH="$PATH" HOME="$work" TMPDIR="$work" \
	setpriv --pdeathsig TERM \
	"$tests/silence.sh" "$silence" "$work/console" -- prlimit --core=0 \
	"$image" uml_dir="$work" umid=guest \
	root=none rootfstype=hostfs rootflags="$root" rw init=/init \
	con=null con0=null,fd:1 ssl=null panic=-1 "$@"
