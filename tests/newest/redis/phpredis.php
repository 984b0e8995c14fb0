<?php
// SPDX-License-Identifier: GPL-2.0-only
//
// phpredis.php SOCKET - phpredis, predis, and sessions of PHP that are locked, on a server. Two more processes count in
// one session.

require_once __DIR__ . '/show.php';
require_once 'Predis/autoload.php';

$path = $argv[1];

ini_set('session.save_handler', 'redis');
ini_set('session.save_path', "unix://$path?prefix=S:");
ini_set('session.use_cookies', 0);
ini_set('session.cache_limiter', '');
ini_set('session.gc_maxlifetime', 1000);
ini_set('redis.session.locking_enabled', 1);
ini_set('redis.session.lock_expire', 100);
ini_set('redis.session.lock_retries', -1);
ini_set('redis.session.lock_wait_time', 2000);

function visit($id)
{
	session_id($id);
	session_start();
	$_SESSION['visits'] = ($_SESSION['visits'] ?? 0) + 1;
	session_write_close();
	return $_SESSION['visits'];
}

if (($argv[3] ?? '') == 'count') {
	for ($i = 0; $i < 50; $i++)
		visit('both');
	exit;
}

$client = new Redis();
show('connect', fn() => $client->connect($path));
show('flushDb', fn() => $client->flushDb());
show('get of a missing key', fn() => $client->get('none'));
show('set', fn() => [$client->set('k', 'v', 1000), about(1000, $client->ttl('k')), $client->get('k')]);
show('set with options', fn() => [$client->set('k', 'w', ['nx', 'ex' => 10]), $client->set('k', 'w', ['xx', 'px' => 1000000]),
	about(1000000, $client->pttl('k'))]);
show('setnx, setex, psetex, getSet', fn() => [$client->setnx('x', 1), $client->setnx('x', 2),
	$client->setex('x', 1000, 3), $client->psetex('x', 1000000, 4), $client->getSet('x', 5)]);
show('mset and mget', fn() => [$client->mset(['a' => 1, 'b' => 'ü']), $client->mget(['a', 'none', 'b'])]);
show('incr and others', fn() => [$client->incr('n'), $client->incrBy('n', 41), $client->decr('n'),
	$client->append('n', '0'), $client->strlen('n'), $client->getRange('n', 0, 0)]);
show('incr of a text', fn() => [$client->incr('b'), $client->getLastError()]);
show('expire and persist', fn() => [$client->expire('a', 1000), $client->expire('a', 2000, 'NX'), $client->persist('a'),
	$client->ttl('a')]);
show('getEx', fn() => [$client->getEx('a', ['EX' => 1000]), about(1000, $client->ttl('a'))]);
show('exists, del, getDel', fn() => [$client->exists('a', 'none'), $client->del('a', 'none'), $client->unlink('b'),
	$client->getDel('x'), $client->get('x')]);
show('multi', fn() => $client->multi()->set('m', 1)->incr('m')->get('m')->exec());
show('pipeline', fn() => $client->pipeline()->set('m', 1)->incr('m')->exec());
show('scan', function () use ($client) {
	$found = [];
	for ($i = 0; $i < 1000; $i++)
		$client->set("scan:$i", $i);
	for ($cursor = null; ($keys = $client->scan($cursor, 'scan:*', 100)) !== false;)
		$found = array_merge($found, $keys);
	return count(array_unique($found));
});
show('a database of its own', fn() => [$client->select(1), $client->flushDb(), $client->get('k'), $client->select(0),
	$client->get('k')]);
show('hSet', fn() => [$client->clearLastError(), $client->hSet('h', 'f', 1), trim((string)$client->getLastError())]);
show('the connection after it', fn() => $client->ping());
$client->flushDb();

$predis = new Predis\Client("unix:$path");
show('predis: set and get', fn() => [(string)$predis->set('k', 'v', 'EX', 1000), $predis->get('k'),
	about(1000, $predis->ttl('k')), $predis->get('none')]);
show('predis: transaction', fn() => array_map('strval', $predis->transaction()->set('m', 1)->incr('m')->execute()));
show('predis: pipeline', fn() => array_map('strval', $predis->pipeline(fn($pipe) => $pipe->set('m', 1)->incr('m'))));
show('predis: hset', fn() => $predis->hset('h', 'f', 1));
$client->flushDb();

show('session: visits', fn() => [visit('ann'), visit('ann'), visit('bob')]);
show('session: its time', fn() => about(1000, $client->ttl('S:ann')));
show('session: no lock is left', fn() => $client->exists('S:ann_LOCK'));
show('session: a lock is held while it is open', function () use ($client) {
	session_id('ann');
	session_start();
	$found = about(100, $client->ttl('S:ann_LOCK'));
	session_write_close();
	return $found;
});
show('session: it has expired', function () use ($client) {
	$client->pexpire('S:ann', 0);
	return visit('ann');
});
show('session: destroyed', function () use ($client) {
	session_id('ann');
	session_start();
	session_destroy();
	return $client->exists('S:ann', 'S:ann_LOCK');
});
show('session: two processes count 100', function () use ($client, $path) {
	$processes = [];
	for ($i = 0; $i < 2; $i++) {
		$pipes = [];
		$processes[] = proc_open([PHP_BINARY, __FILE__, $path, '0', 'count'], [], $pipes);
	}
	array_map('proc_close', $processes);
	return visit('both') - 1;
});
