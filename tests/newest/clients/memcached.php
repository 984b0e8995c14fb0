<?php
// SPDX-License-Identifier: GPL-2.0-only
//
// memcached.php SOCKET PORT - calls of php-memcached on a server. Prints the result of each.

$memcached = new Memcached();
$memcached->addServer($argv[1], 0);
$memcached->setOption(Memcached::OPT_COMPRESSION, false);
$memcached->setOption(Memcached::OPT_VERIFY_KEY, false);

// Runs a call and prints its result, and the reason if there is none.
function attempt(string $name, callable $call): void
{
	global $memcached;

	$found = $call();
	if (is_string($found) && strlen($found) > 300)
		$found = strlen($found) . ' bytes';
	echo "$name: ", json_encode($found, JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_SUBSTITUTE);
	if ($found === false || $found === null)
		echo ' (', preg_replace('|, host: .*|', '', $memcached->getResultMessage()), ')';
	echo "\n";
}

$m = $memcached;
attempt('flush', fn() => $m->flush());
attempt('get of a missing key', fn() => $m->get('none'));
attempt('set', fn() => $m->set('k', 'value', 100));
attempt('get', fn() => $m->get('k'));
attempt('set of an object', fn() => $m->set('object', ['name' => 'Ann', 'list' => [1, null]], 100));
attempt('get of an object', fn() => $m->get('object'));
attempt('set of an empty value', fn() => $m->set('empty', '', 100));
attempt('get of an empty value', fn() => $m->get('empty'));
attempt('add of a present key', fn() => $m->add('k', 'x', 100));
attempt('add', fn() => $m->add('new', 'x', 100));
attempt('replace', fn() => $m->replace('new', 'y', 100));
attempt('replace of a missing key', fn() => $m->replace('none', 'y', 100));
attempt('append', fn() => $m->append('new', '>'));
attempt('prepend', fn() => $m->prepend('new', '<'));
attempt('append to a missing key', fn() => $m->append('none', '>'));
attempt('get after append', fn() => $m->get('new'));
attempt('increment of a missing key', fn() => $m->increment('n', 2));
attempt('increment', fn() => $m->set('n', 40, 100) && $m->increment('n', 2) ? $m->get('n') : false);
attempt('decrement below 0', fn() => $m->decrement('n', 50));
attempt('increment of a text', fn() => $m->increment('k', 1));
attempt('touch', fn() => $m->touch('k', 50));
attempt('touch of a missing key', fn() => $m->touch('none', 50));
attempt('setMulti', fn() => $m->setMulti(['a' => 1, 'b' => 2, 'ü' => 3], 100));
attempt('getMulti', fn() => $m->getMulti(['a', 'b', 'ü', 'none']));
attempt('delete', fn() => $m->delete('a'));
attempt('delete of a missing key', fn() => $m->delete('a'));
attempt('deleteMulti', fn() => $m->deleteMulti(['b', 'ü']));
attempt('deleteMulti of a missing key', fn() => $m->set('b', 1) ? array_map(
	fn($one) => is_int($one) ? "error $one" : $one, $m->deleteMulti(['b', 'none'])) : false);
attempt('getMulti after deleteMulti', fn() => $m->getMulti(['a', 'b', 'ü']));
$version = $m->get('k', null, Memcached::GET_EXTENDED)['cas'];
attempt('cas', fn() => $m->cas($version, 'k', 'v', 100));
attempt('cas of an old version', fn() => $m->cas($version, 'k', 'w', 100));
attempt('cas of a missing key', fn() => $m->cas($version, 'none', 'w', 100));
attempt('get after cas', fn() => $m->get('k'));
attempt('get with a function', fn() => $m->get('made', function ($m, $key, &$value) {
	$value = 'made';
	return true;
}));
attempt('get after that', fn() => $m->get('made'));
attempt('getDelayed', fn() => $m->getDelayed(['k', 'made']) ? array_column($m->fetchAll(), 'value', 'key') : false);
attempt('setByKey', fn() => $m->setByKey('server', 'k2', 'v', 100) ? $m->getByKey('server', 'k2') : false);
attempt('getVersion', fn() => array_values($m->getVersion()));
attempt('getStats', fn() => array_key_exists('curr_connections', current($m->getStats())));
attempt('getAllKeys', function () use ($m) {
	$keys = $m->getAllKeys();
	if ($keys)
		sort($keys);
	return $keys;
});
attempt('in step after getAllKeys', fn() => $m->get('k'));

// Requests that are refused, and what follows on the same connection
$m->set('sync', 'in step', 100);
foreach ([
	'an empty key' => '',
	'a key with a blank' => 'a b',
	'a key with a NUL' => "a\0b",
	'a key of 250 bytes' => str_repeat('k', 250),
	'a key of 251 bytes' => str_repeat('k', 251),
	'a key of 2000 bytes' => str_repeat('k', 2000),
] as $name => $key) {
	attempt("set of $name", fn() => $m->set($key, "flush_all\r\nflush_all", 100));
	attempt("get of $name", fn() => $m->get($key));
	attempt("getMulti with $name", fn() => $m->getMulti(['sync', $key]) ?: false);
	attempt("delete of $name", fn() => $m->delete($key));
	attempt("in step after $name", fn() => $m->get('sync'));
}
foreach ([
	'a value of 1 MiB less 1000 bytes' => (1 << 20) - 1000,
	'a value of 1 MiB' => 1 << 20,
	'a value of 2 MiB' => 2 << 20,
] as $name => $length) {
	$m->set('large', 'old', 100);
	attempt("set of $name", fn() => $m->set('large', str_repeat('v', $length), 100));
	attempt("get of $name", fn() => $m->get('large'));
	attempt("in step after $name", fn() => $m->get('sync'));
}
$m->set('large', str_repeat('v', 1000000), 100);
attempt('append up to more than 1 MiB', fn() => $m->append('large', str_repeat('v', 100000)));
attempt('get after that append', fn() => $m->get('large'));
attempt('increment of a large number', fn() => $m->set('n', '18446744073709551615') ? $m->increment('n', 1) : false);
attempt('in step after that', fn() => $m->get('sync'));

// Sessions and the binary protocol
$binary = new Memcached();
$binary->setOption(Memcached::OPT_BINARY_PROTOCOL, true);
$binary->addServer($argv[1], 0);
$m = $binary;
$memcached = $binary;
attempt('set by the binary protocol', fn() => $m->set('k', 'binary'));
attempt('get by the binary protocol', fn() => $m->get('k'));
