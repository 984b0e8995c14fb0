#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# usage.t - what hbfollow does without a device: help, wrong usage, completion; and its manual page.
set -u
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tests/hbctl/tap.sh
. "$tests/hbctl/tap.sh"
program=hbfollow
# shellcheck source=tests/serve/usage.sh
. "$tests/serve/usage.sh"

is "bash completion offers options" 0 '--tls-ca --tls-cert --tls-key' '' complete hbfollow --tl
is "fish completion offers options" 0 '--tls-ca --tls-cert --tls-key' '' offered 'hbfollow --tl'
without_device --belt shop redis://127.0.0.1/
finish
