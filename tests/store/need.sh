#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# need.sh - install PostgreSQL and its C library. Keeps Debian's package from making and
# starting a database.
set -eu
unset CDPATH

need=$(cd "$(dirname "$0")/.." && pwd)/need.sh
conf=/etc/postgresql-common/createcluster.conf

"$need" pkg-config libpq-dev postgresql-common
[ "$(dpkg-query -W -f '${db:Status-Status}' postgresql 2>/dev/null)" = installed ] ||
	sed -i 's/^#* *create_main_cluster.*/create_main_cluster = false/' "$conf"
"$need" postgresql
