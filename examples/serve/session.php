<?php
// SPDX-License-Identifier: GPL-2.0-only
//
// session.php SOCKET ID [NAME] - a page that greets a visitor by the name of its session. The
// sessions of PHP are entries of the belt that hbserve serves: all processes share them, and each expires
// to the millisecond 24 minutes after its last use (session.gc_maxlifetime).
//
//	hbserve -s /run/hashbelt/sessions.sock -b sessions
//	php session.php /run/hashbelt/sessions.sock visitor1 Ann
//	php session.php /run/hashbelt/sessions.sock visitor1
//
// For a web server, php.ini has the first four settings.

ini_set('session.save_handler', 'memcached');
ini_set('session.save_path', $argv[1]);
// hbserve does not speak the binary protocol, which is the default.
ini_set('memcached.sess_binary_protocol', '0');
// The lock of a process that dies ends after 30 seconds.
ini_set('memcached.sess_lock_expire', '30');
ini_set('session.use_cookies', '0');
ini_set('session.use_only_cookies', '0');

session_id($argv[2]);
session_start();
if (isset($argv[3]))
	$_SESSION['name'] = $argv[3];
$_SESSION['visits'] = ($_SESSION['visits'] ?? 0) + 1;
printf("%s: visit %d\n", $_SESSION['name'] ?? 'a stranger', $_SESSION['visits']);
