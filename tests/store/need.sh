#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# need.sh - see to it that PostgreSQL and its C library are installed. Debian would
# make and start a database on that; nobody wants one.
set -eu

need=$(cd "$(dirname "$0")/.." && pwd)/need.sh
conf=/etc/postgresql-common/createcluster.conf

"$need" pkg-config libpq-dev postgresql-common
[ "$(dpkg-query -W -f '${db:Status-Status}' postgresql 2>/dev/null)" = installed ] ||
	sed -i 's/^#* *create_main_cluster.*/create_main_cluster = false/' "$conf"
"$need" postgresql
