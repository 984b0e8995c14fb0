-- SPDX-License-Identifier: GPL-2.0-only
-- A table whose changes are told on the channel page, when they are committed. "hbfollow --print-sql" prints the
-- function.
CREATE TABLE page (name text PRIMARY KEY, content text NOT NULL);
SELECT hashbelt_follow('page', 'name', channel => 'page');
