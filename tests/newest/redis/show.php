<?php
// SPDX-License-Identifier: GPL-2.0-only
//
// show.php - used by the programs for PHP: each prints the results of calls.

// Prints the result of a call, or its error.
function show($name, $call)
{
	try {
		$found = $call();
	} catch (Throwable $error) {
		$found = get_class($error) . ': ' . rtrim($error->getMessage());
	}
	echo "$name: ", json_encode($found, JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE), "\n";
}

// A time that is left, or "about" the one that was set if at most a tenth is gone.
function about($set, $left)
{
	return $left > $set - $set / 10 && $left <= $set ? "about $set" : $left;
}
