#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# page.sh NAME - print a page: from the belt, or from Redis.
#
#	hbctl create pages --ttl 1h
#	hbfollow -b pages 'redis://127.0.0.1/?prefix=page:' &
#	redis-cli set page:home Welcome
#	page.sh home
#
# One caller runs redis-cli, and the others wait for what it prints. hbctl stores that only if the page has
# not changed meanwhile. With -e redis-cli fails after an error, and nothing is stored. REDIS is the URL of
# another server.
exec hbctl -b pages get "page:$1" --fill -- redis-cli -e -u "${REDIS:-redis://127.0.0.1/}" get "page:$1"
