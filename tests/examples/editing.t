#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# editing.t - the version number pattern.
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"
# shellcheck source=tests/examples/example.sh
. "$(dirname "$0")/example.sh"

plan 8
usage editing
example editing
said "put-if-version fails cleanly when somebody was faster" \
	"Ann reads: Smith" \
	"Bob reads: Smith" \
	"Ann saves: Smith, 12 Main Street" \
	"Bob cannot save, somebody was faster: Smith, phone 555" \
	"Bob reads: Smith, 12 Main Street"
said "who reads again can save, and no edit is lost" \
	"Bob reads: Smith, 12 Main Street" \
	"Bob saves: Smith, 12 Main Street, phone 555" \
	"Ann reads: Smith, 12 Main Street, phone 555"
said "remove-if-version fails cleanly when somebody was faster" \
	"Bob saves: Smith, 12 Main Street, phone 555" \
	"Ann cannot remove it, somebody has changed it" \
	"Ann reads: Smith, 12 Main Street, phone 555" \
	"Ann removes the record"
said "a version of a former life does not fit a new one" \
	"Ann removes the record" \
	"Ann reads: Smith" \
	"Bob cannot save, somebody was faster: Smith, 12 Main Street, phone 555"
lines "each save was one of these" 2 '^(Ann|Bob) saves: '
said "no edit of many at once is lost" \
	"editors 4 edits 2000 sum 2000"
finish
