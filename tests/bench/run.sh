#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh - run the benchmark in a guest: small and large belts, few and many buckets. Costs
# are multiples of an ioctl on the same device that returns at once.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck disable=SC2016 # for the guest's shell to expand
exec "$top/tests/vm/run.sh" --memory 2048 "$top/.cache/build/payload" sh -c '
	insmod hashbelt.ko
	for entries in 1000 100000 1000000; do
		for buckets in 5 500; do
			echo
			echo "$entries entries, $buckets buckets"
			./bench --entries $entries --buckets $buckets
		done
	done
	rmmod hashbelt'
