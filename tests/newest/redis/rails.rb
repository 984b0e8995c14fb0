# SPDX-License-Identifier: GPL-2.0-only
#
# rails.rb SOCKET - redis-rb, the RedisCacheStore of Rails, and Rack::Attack on a server.
require 'json'
require 'redis'
require 'logger'
require 'active_support'
require 'active_support/cache'
require 'active_support/cache/redis_cache_store'
require 'active_support/notifications'
require 'rack/attack'

# Prints the result of a call, or its error.
def show(name)
  found = yield
  puts "#{name}: #{found.to_json}"
rescue StandardError => e
  puts "#{name}: #{e.class}: #{e.message.sub(/ *\(unix:.*/, '')}"
end

# A time that is left, or "about" the one that was set if at most a tenth is gone.
def about(set, left)
  left > set - (set / 10) && left <= set ? "about #{set}" : left
end

$stdout.sync = true
path = ARGV[0]
client = Redis.new(path: path)
show('flushdb') { client.flushdb }
show('get of a missing key') { client.get('none') }
show('set') { [client.set('k', 'v', ex: 1000), client.get('k'), about(1000, client.ttl('k'))] }
show('set with options') { [client.set('k', 'w', nx: true), client.set('k', 'w', xx: true, keepttl: true, get: true)] }
show('mset and mget') { [client.mset('a', 1, 'b', 'ü'), client.mget('a', 'none', 'b')] }
show('incr and others') { [client.incr('n'), client.incrby('n', 41), client.decr('n'), client.append('n', '0')] }
show('incr of a text') { client.incr('b') }
show('expire and persist') { [client.expire('a', 1000), client.expire('a', 2000, nx: true), client.persist('a')] }
show('exists and del') { [client.exists('a', 'none'), client.del('a', 'none'), client.getdel('b'), client.get('b')] }
show('multi') { client.multi { |all| all.set('m', 1); all.incr('m'); all.get('m') } }
show('pipelined') { client.pipelined { |all| all.set('m', 1); all.incr('m') } }
show('scan_each') do
  1000.times { |i| client.set("scan:#{i}", i) }
  client.scan_each(match: 'scan:*', count: 100).to_a.uniq.size
end
show('a database of its own') do
  other = Redis.new(path: path, db: 1)
  [other.flushdb, other.get('k'), client.get('k')]
end
show('hset') { client.hset('h', 'f', 1) }
client.flushdb

# Rails 7.2 cannot make a pool with the connection_pool of unstable. An error that the store has rescued fails the test, too.
rescued = ->(method:, returning:, exception:) { puts "#{method}: #{exception.class}: #{exception.message.strip}" }
cache = ActiveSupport::Cache::RedisCacheStore.new(url: "unix://#{path}", namespace: 'app', expires_in: 1000,
                                                  error_handler: rescued, pool: false)
show('Rails: write and read') { [cache.write('k', { 'name' => 'Ann' }), cache.read('k'), cache.read('none')] }
show('Rails: the time of an entry') { about(1000, client.ttl('app:k')) }
show('Rails: unless_exist') { [cache.write('k', 1, unless_exist: true), cache.write('u', 1, unless_exist: true)] }
show('Rails: many') { [cache.write_multi({ 'a' => 1, 'b' => [2] }), cache.read_multi('a', 'none', 'b')] }
show('Rails: fetch') { [cache.fetch('f') { 1 }, cache.fetch('f') { 2 }] }
show('Rails: fetch_multi') { cache.fetch_multi('a', 'new') { |key| "made #{key}" } }
show('Rails: race_condition_ttl') { [cache.write('r', 1, race_condition_ttl: 10), about(1300, client.ttl('app:r'))] }
show('Rails: exist? and delete') { [cache.exist?('k'), cache.delete('k'), cache.exist?('k'), cache.delete_multi(%w[a b])] }
show('Rails: increment') do
  [cache.increment('n', 2, expires_in: 100), cache.increment('n', 1, expires_in: 1000), cache.decrement('n'),
   about(100, client.ttl('app:n'))]
end
show('Rails: delete_matched') { cache.delete_matched('f*') && cache.read('f') }
show('Rails: clear of a namespace') { [client.set('other', 1), !cache.clear.nil?, cache.read('r'), client.get('other')] }
show('Rails: stats') { cache.stats['redis_version'].to_i >= 7 }

Rack::Attack.cache.store = cache
Rack::Attack.throttle('requests', limit: 2, period: 100_000) { |request| request.ip }
app = Rack::Attack.new(->(_) { [200, {}, []] })
show('Rack::Attack: the third request is refused') do
  3.times.map { app.call('REMOTE_ADDR' => '192.0.2.1', 'PATH_INFO' => '/', 'rack.input' => nil).first }
end
