#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# editing.t - the version number pattern.
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"
# shellcheck source=tests/examples/example.sh
. "$(dirname "$0")/example.sh"

usage editing
example editing
said "put with IF_VERSION fails after a put by another editor" \
	"Ann reads: Smith" \
	"Bob reads: Smith" \
	"Ann saves: Smith, 12 Main Street" \
	"Bob cannot save, another user was faster: Smith, phone 555" \
	"Bob reads: Smith, 12 Main Street"
said "an editor that reads again can save, and both edits are kept" \
	"Bob reads: Smith, 12 Main Street" \
	"Bob saves: Smith, 12 Main Street, phone 555" \
	"Ann reads: Smith, 12 Main Street, phone 555"
said "remove with IF_VERSION fails after a put by another editor" \
	"Bob saves: Smith, 12 Main Street, phone 555" \
	"Ann cannot remove it, another user has changed it" \
	"Ann reads: Smith, 12 Main Street, phone 555" \
	"Ann removes the record"
said "put with IF_VERSION fails with the version of a removed entry" \
	"Ann removes the record" \
	"Ann reads: Smith" \
	"Bob cannot save, another user was faster: Smith, 12 Main Street, phone 555"
lines "exactly two saves succeed" 2 '^(Ann|Bob) saves: '
said "four concurrent editors lose none of 2000 edits" \
	"editors 4 edits 2000 sum 2000"
finish
