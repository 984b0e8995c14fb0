# SPDX-License-Identifier: GPL-2.0-only
# frozen_string_literal: true

# dalli.rb SOCKET PORT - calls of Ruby's dalli on a server. Prints the result of each.

require 'dalli'
Dalli.logger.level = Logger::FATAL

# Values of strings only, without marks of their type: what another client would store.
@dalli = Dalli::Client.new(ARGV[0], compress: false, socket_timeout: 60)

# Runs a call and prints its result, or its error without addresses.
def try(name)
  result = yield
  result = "#{result.bytesize} bytes" if result.is_a?(String) && result.bytesize > 300
  puts "#{name}: #{result.inspect}"
rescue StandardError => e
  puts "#{name}: #{e.class}: #{e.message.gsub(%r{\s*/\S*sock\S*|localhost:\d+}, '')[0, 120]}"
end

# Whether a write that returns a version has worked.
def done(version)
  version ? true : version
end

def get(key)
  @dalli.get(key, raw: true)
end

def set(key, value, ttl = 100)
  done(@dalli.set(key, value, ttl, raw: true))
end

# The value of an entry, and whether it is stale.
def metadata(key)
  found = @dalli.get_with_metadata(key, raw: true)
  found.slice(:value, :miss, :stale, :won, :lost_race)
end

try('version') { @dalli.version.values }
try('flush') { @dalli.flush }
try('get of a missing key') { get('none') }
try('set') { set('k', 'value') }
try('get') { get('k') }
try('set of an object') { done(@dalli.set('object', { name: 'Ann', list: [1, nil] })) }
try('get of an object') { @dalli.get('object') }
try('set of an empty value') { set('empty', '') }
try('get of an empty value') { get('empty') }
try('add of a present key') { done(@dalli.add('k', 'x', 100, raw: true)) }
try('add') { done(@dalli.add('new', 'x', 100, raw: true)) }
try('replace') { done(@dalli.replace('new', 'y', 100, raw: true)) }
try('replace of a missing key') { done(@dalli.replace('none', 'y', 100, raw: true)) }
try('append') { @dalli.append('new', '>') }
try('prepend') { @dalli.prepend('new', '<') }
try('append to a missing key') { @dalli.append('none', '>') }
try('get after append') { get('new') }
try('incr of a missing key') { @dalli.incr('n', 2) }
try('incr with a default') { @dalli.incr('n', 2, 100, 40) }
try('incr') { @dalli.incr('n', 2) }
try('decr below 0') { @dalli.decr('n', 50) }
try('incr of a text') { @dalli.incr('k') }
try('touch') { @dalli.touch('k', 50) }
try('touch of a missing key') { @dalli.touch('none', 50) }
try('gat') { @dalli.gat('k', 50, raw: true) }
try('set_multi') { @dalli.set_multi({ 'a' => '1', 'b b' => '2', 'ü' => '3' }, 100, raw: true) }
try('get_multi') { @dalli.get_multi('a', 'b b', 'ü', 'none').sort }
try('delete') { @dalli.delete('a') }
try('delete of a missing key') { @dalli.delete('a') }
try('delete_multi') { @dalli.delete_multi(['b b', 'ü', 'none']) }
try('get_multi after delete_multi') { @dalli.get_multi('a', 'b b', 'ü') }

try('cas') { done(@dalli.cas('k', 100, raw: true) { |value| "#{value}!" }) }
try('cas of a missing key') { @dalli.cas('none', 100, raw: true) { 'x' } }
try('cas of a value that changes') { @dalli.cas('k', 100, raw: true) { set('k', 'other') && 'x' } }
try('get after cas') { get('k') }
version = @dalli.get_cas('k').last
try('set_cas') { done(@dalli.set_cas('k', 'v', version, 100, raw: true)) }
try('set_cas of an old version') { @dalli.set_cas('k', 'w', version, 100, raw: true) }
try('replace_cas of an old version') { @dalli.replace_cas('k', 'w', version, 100, raw: true) }
try('delete_cas of an old version') { @dalli.delete_cas('k', version) }
try('delete_cas') { @dalli.delete_cas('k', @dalli.get_cas('k').last) }
try('get_multi_cas') { set('a', '1') && @dalli.get_multi_cas('a').transform_values(&:first) }
try('get_with_metadata') { metadata('a') }
try('get_with_metadata, the time left') do
  @dalli.get_with_metadata('a', return_ttl_remaining: true)[:ttl_remaining].between?(50, 100)
end
try('get_with_metadata, whether it was read') do
  @dalli.get_with_metadata('a', return_hit_status: true)[:hit_before]
end
try('get after that') { get('a') }

# Deletes that leave something: dalli's tombstones
{ 'invalidate' => { invalidate: true },
  'invalidate and tombstone_ttl' => { invalidate: true, tombstone_ttl: 30 },
  'invalidate and drop_value' => { invalidate: true, drop_value: true },
  'drop_value' => { drop_value: true } }.each do |name, options|
  set('k', 'old')
  try("delete by #{name}") { @dalli.delete('k', options) }
  try("get after delete by #{name}") { get('k') }
  try("get_with_metadata after delete by #{name}") { metadata('k') }
  try("add after delete by #{name}") { done(@dalli.add('k', 'added', 100, raw: true)) }
  try("set after delete by #{name}") { set('k', 'new') }
  try("get after that set (#{name})") { get('k') }
  set('k2', 'old')
  try("delete_multi by #{name}") { @dalli.delete_multi(%w[k k2 none], options) }
  try("get_multi after delete_multi by #{name}") { @dalli.get_multi('k', 'k2') }
  try("fetch after delete_multi by #{name}") { @dalli.fetch('k', 100, raw: true) { 'made' } }
end
set('k', 'old')
@dalli.delete('k', invalidate: true)
try('fetch_with_lock after delete by invalidate') do
  @dalli.fetch_with_lock('k', ttl: 100, req_options: { raw: true }) { 'made' }
end
try('get after fetch_with_lock') { get('k') }
try('fetch_with_lock of a missing key') do
  @dalli.fetch_with_lock('missing', ttl: 100, req_options: { raw: true }) { 'made' }
end
try('fetch_with_lock of a present key') do
  @dalli.fetch_with_lock('missing', ttl: 100, req_options: { raw: true }) { 'made twice' }
end

# Requests that are refused, and what follows on the same connection
@dalli.set('sync', 'in step', 100, raw: true)
{ 'an empty key' => '',
  'a key with a blank' => 'a b',
  'a key with a NUL' => "a\0b",
  'a key with a line' => "a\r\nflush_all",
  'a key of 250 bytes' => 'k' * 250,
  'a key of 251 bytes' => 'k' * 251,
  'a key of 187 bytes with a blank' => "#{'k' * 186} ",
  'a key of 190 bytes with a blank' => "#{'k' * 189} " }.each do |name, key|
  try("set of #{name}") { set(key, "flush_all\r\nflush_all") }
  try("get of #{name}") { get(key) }
  try("delete of #{name}") { @dalli.delete(key) }
  try("in step after #{name}") { get('sync') }
end
{ 'a value of 1 MiB less 1000 bytes' => 'v' * ((1 << 20) - 1000),
  'a value of 1 MiB' => 'v' * (1 << 20) }.each do |name, value|
  set('large', 'old')
  try("set of #{name}") { set('large', value) }
  try("get of #{name}") { get('large') }
  try("in step after #{name}") { get('sync') }
end
more = Dalli::Client.new(ARGV[0], compress: false, value_max_bytes: 4 << 20, socket_timeout: 60)
set('large', 'old')
try('set of a value of 2 MiB') { more.set('large', 'v' * (2 << 20), 100, raw: true) }
try('get after a value of 2 MiB') { more.get('large', raw: true) }
set('large', 'old')
try('set_multi with a value of 2 MiB') { more.set_multi({ 'large' => 'v' * (2 << 20), 'x' => 'y' }, 100, raw: true) }
try('get_multi after a value of 2 MiB') { more.get_multi('large', 'x') }
try('append up to more than 1 MiB') { set('large', 'v' * 1_000_000) && more.append('large', 'v' * 100_000) }
try('get after that append') { more.get('large', raw: true) }
try('in step after a value of 2 MiB') { more.get('sync', raw: true) }
@dalli.quiet do
  @dalli.set('k', 'quiet', 100, raw: true)
  @dalli.incr('sync')
  @dalli.delete('none')
end
try('in step after a quiet block with an error') { [get('k'), get('sync')] }
