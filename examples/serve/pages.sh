#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# pages.sh PAGE TTL - make a page, and put it into the belt pages for this time: nginx serves it from
# there (pages.conf).
set -eu

page=$1
{
	echo "<h1>$page</h1>"
	echo "made by $(id -un)"
} | hbctl -b pages put "$page" --ttl "$2"
