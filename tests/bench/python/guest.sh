#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# guest.sh python|python-trial - in a guest: measure operations in Python, and print lines of JSON
# (tests/bench/figures.sh).
set -eu

PATH=$PATH:/usr/bin
export PYTHONPATH=/payload/bindings/python PYTHONDONTWRITEBYTECODE=1 HASHBELT_BACKEND=native
case $1 in
python) measure="./cost.py 2000 50" ;;
python-trial) measure="./cost.py 100 2" ;;
esac
# The kernel's work after booting would be counted otherwise.
sleep 3
insmod hashbelt.ko
$measure hashbelt
memcached -u root -t 1 -s /tmp/memcached &
server=$!
sleep 1
$measure pymemcache /tmp/memcached
kill "$server"
wait "$server" || true
$measure diskcache
rmmod hashbelt
