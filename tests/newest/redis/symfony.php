<?php
// SPDX-License-Identifier: GPL-2.0-only
//
// symfony.php SOCKET - the locks of Symfony on a server, by phpredis and by predis.

require_once __DIR__ . '/show.php';
require_once 'Predis/autoload.php';
require_once 'Symfony/Component/Lock/autoload.php';

use Predis\Client;
use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\Store\RedisStore;

function calls($name, $client)
{
	$client->flushdb();
	$factory = new LockFactory(new RedisStore($client));
	[$lock, $other] = [$factory->createLock('l', 1000), $factory->createLock('l', 1000)];

	show("$name: acquire", fn() => [$lock->acquire(), $other->acquire(), about(1000, $client->ttl('l'))]);
	show("$name: look", fn() => [$lock->isAcquired(), $other->isAcquired()]);
	show("$name: refresh", fn() => [$lock->refresh(500), about(500, $client->ttl('l'))]);
	show("$name: refresh by another owner", fn() => $other->refresh());
	show("$name: release", fn() => [$lock->release(), $client->exists('l'), $other->acquire(), $other->release()]);
	show("$name: a shared lock", fn() => [$lock->acquireRead(), $other->acquireRead()]);
}

$client = new Redis();
$client->connect($argv[1]);
calls('phpredis', $client);
calls('predis', new Client(['scheme' => 'unix', 'path' => $argv[1]]));
