<?php
// SPDX-License-Identifier: GPL-2.0-only
//
// laravel.php SOCKET - the cache, the locks and the limiters of Laravel on a server, by phpredis and by predis.

require_once __DIR__ . '/show.php';
require_once 'Predis/autoload.php';
require_once 'Illuminate/Container/autoload.php';
require_once 'Illuminate/Redis/autoload.php';
require_once 'Illuminate/Cache/autoload.php';

use Illuminate\Cache\RateLimiter;
use Illuminate\Cache\RedisStore;
use Illuminate\Cache\Repository;
use Illuminate\Container\Container;
use Illuminate\Redis\RedisManager;

function calls($name, $settings)
{
	$manager = new RedisManager(new Container(), $name, ['options' => ['prefix' => 'app:'], 'default' => $settings]);
	$client = $manager->connection();
	$store = new RedisStore($manager, 'cache:', 'default');
	$cache = new Repository($store);
	$limiter = new RateLimiter($cache);

	show("$name: flush", fn() => $cache->flush());
	show("$name: put and get", fn() => [$cache->put('k', ['Ann'], 1000), $cache->get('k'), $cache->get('none'),
		about(1000, $client->ttl('cache:k'))]);
	show("$name: add", fn() => [$cache->add('k', 1, 10), $cache->add('a', 1, 1000), about(1000, $client->ttl('cache:a'))]);
	show("$name: many", fn() => [$cache->putMany(['b' => 2, 'c' => 'ü'], 1000), $cache->many(['b', 'none', 'c'])]);
	show("$name: forever", fn() => [$cache->forever('f', 1), $client->ttl('cache:f')]);
	show("$name: increment", fn() => [$cache->increment('a', 41), $cache->decrement('a', 2), $cache->increment('new')]);
	show("$name: remember", fn() => [$cache->remember('r', 1000, fn() => 1), $cache->remember('r', 1000, fn() => 2)]);
	show("$name: pull and forget", fn() => [$cache->pull('k'), $cache->get('k'), $cache->forget('b'), $cache->forget('b')]);
	show("$name: lock", function () use ($store, $client) {
		$lock = $store->lock('l', 1000);
		$other = $store->lock('l', 1000);
		return [$lock->get(), $other->get(), $other->release(), about(1000, $client->ttl('cache:l')), $lock->release(),
			$other->get(), $store->restoreLock('l', $other->owner())->release(), $store->lock('l')->get()];
	});
	show("$name: a lock is refreshed", function () use ($store, $client) {
		$lock = $store->lock('m', 10);
		return [$lock->get(), $lock->refresh(1000), about(1000, $client->ttl('cache:m'))];
	});
	show("$name: limiter", fn() => [$limiter->attempt('u', 2, fn() => 'done', 1000), $limiter->hit('u', 1000),
		$limiter->tooManyAttempts('u', 2), $limiter->remaining('u', 2), about(1000, $limiter->availableIn('u')),
		$limiter->clear('u'), $limiter->remaining('u', 2)]);
	show("$name: funnel", function () use ($client) {
		$funnel = fn($call) => $client->funnel('f')->limit(1)->releaseAfter(1000)->block(0)->then($call, fn() => 'full');
		return [$funnel(fn() => $funnel(fn() => 'two')), $funnel(fn() => 'one')];
	});
	if ($name == 'predis')
		show("$name: throttle", fn() => $client->throttle('t')->allow(1)->every(1000)->block(0)->then(fn() => 'done'));
}

calls('phpredis', ['host' => $argv[1], 'port' => 0, 'database' => 1]);
calls('predis', ['scheme' => 'unix', 'path' => $argv[1], 'database' => 1]);
