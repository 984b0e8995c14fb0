#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""redis_events.t [PROGRAM] - subscriptions to the keys that expire, by the protocol of Redis. PROGRAM is hbserve, or
hbserve-fake or hbserve-threads, which need no module."""

import sys
import time

from serve import Server, at_last, equal, finish, hbctl, make_belt, true

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else 'hbserve'
REAL = PROGRAM == 'hbserve'
EXPIRED = '__keyevent@0__:expired'
LIMIT = 32 * 1024 * 1024


def make(name, *options):
    """Make a belt whose time goes on."""
    on = make_belt(name, '--ttl', '10s', '--buckets', 101, *options)
    on('resume')
    return on


def words(sign, *texts):
    """An array, or a message of RESP 3."""
    return f'{sign}{len(texts)}\r\n' + ''.join(
        f':{text}\r\n' if isinstance(text, int) else f'${len(text)}\r\n{text}\r\n' for text in texts)


def message(key, sign='*', channel=EXPIRED):
    return words(sign, 'message', channel, key)


def read(client, expected):
    """Read the expected number of bytes."""
    return client.exactly(len(expected)).decode('latin1')


def ask(client, line, expected):
    """Send a line. Returns whether the reply is the expected one."""
    client.send(line + '\r\n')
    return read(client, expected) == expected


def subscriber(server, *channels, version=2):
    """A client that has subscribed."""
    client = server.connect()
    if version == 3:
        client.send('HELLO 3\r\n')
        client.until(b'modules\r\n*0\r\n')
    for number, channel in enumerate(channels or [EXPIRED]):
        name = 'psubscribe' if '*' in channel else 'subscribe'
        if not ask(client, f'{name} {channel}', words('>' if version == 3 else '*', name, channel, number + 1)):
            raise RuntimeError(f'{name} is refused: {server.said()}')
    return client


def put(client, *keys, ms=100):
    """Set keys for a time. They have long values."""
    client.send(''.join(f'SET {key} {"secret" * 10} PX {ms}\r\n' for key in keys))
    return read(client, '+OK\r\n' * len(keys))


on = make('main', '--on-expire', 'notify') if REAL else None
if REAL:
    make('more', '--on-expire', 'notify')
    make('other')
server = Server('-B', 'redis', '-vv', '--database', '1=more', '--database', '2=main', program=PROGRAM)
writer = server.connect()

# Messages
begin = time.monotonic()
first, second, third = (subscriber(server), subscriber(server, version=3),
                        subscriber(server, EXPIRED, '__keyevent@*__:expired', version=3))
put(writer, 'k')
equal('a subscriber by RESP 2 gets an array', message('k'), read(first, message('k')))
true('a message does not come before the time of its key is over', time.monotonic() >= begin + 0.1)
equal('a subscriber by RESP 3, of another thread, gets a push', message('k', '>'), read(second, message('k', '>')))
expected = message('k', '>') + words('>', 'pmessage', '__keyevent@*__:expired', EXPIRED, 'k') + \
    words('>', 'pmessage', '__keyevent@*__:expired', '__keyevent@2__:expired', 'k')
equal('a pattern for all databases gets the key for each that has the belt', expected, read(third, expected))
writer.send('GET k\r\n')
equal('a key of a message is gone', '$-1\r\n', read(writer, '$-1\r\n'))
keys = [f'key:{i}' for i in range(1000)]
put(writer, *keys)
expected = ''.join(message(key) for key in sorted(keys))
found = first.exactly(len(expected)).decode('latin1').split('*3\r\n')[1:]
equal('of 1000 keys each comes once', sorted(message(key)[4:] for key in keys), sorted(found))
second.send('UNSUBSCRIBE\r\n')
second.until(words('>', 'unsubscribe', EXPIRED, 0).encode())
put(writer, 'last')
equal('a client that has unsubscribed gets no more', True, ask(second, 'ECHO end', '$3\r\nend\r\n'))
equal('a client that stays subscribed gets more', message('last'), read(first, message('last')))
third.close()
put(writer, 'without')
equal('a client that leaves does not end the subscriptions of others', message('without'),
      read(first, message('without')))
writer.send('SELECT 1\r\n')
read(writer, '+OK\r\n')
both = subscriber(server, '__keyevent@1__:expired', EXPIRED)
put(writer, 'limit')
equal('another database is another channel', message('limit', channel='__keyevent@1__:expired'),
      read(both, message('limit', channel='__keyevent@1__:expired')))
writer.send('SELECT 0\r\n')
read(writer, '+OK\r\n')

# A subscriber in a pipeline whose replies it does not take
writer.send(words('*', 'SET', 'large', 'x' * 500000))
read(writer, '+OK\r\n')
slow = subscriber(server, version=3)
slow.send('GET large\r\n' * 20)
put(writer, 'between')
equal('a client that takes no replies does not delay the messages of others', message('between'),
      read(first, message('between')))
replies = '$500000\r\n' + 'x' * 500000 + '\r\n'
found = slow.exactly(len(replies) * 20 + len(message('between', '>'))).decode('latin1')
equal('a message comes between replies, and not within one', replies * 20, found.replace(message('between', '>'), ''))
slow.close()

# A subscriber that takes nothing
slow = subscriber(server, EXPIRED, '__keyevent@2__:expired', '__keyevent@*__:expired')
# Four messages of 1000 bytes for each.
many = [f'{i:05}' + 'k' * 995 for i in range(10000)]
for i in range(0, len(many), 100):
    put(writer, *many[i:i + 100])
found = first.exactly(len(message(many[0])) * len(many)).decode('latin1').split('*3\r\n')[1:]
equal('a subscriber that reads gets all of 10,000 long keys', sorted(message(key)[4:] for key in many), sorted(found))
true('a subscriber that does not read is closed', at_last(lambda: 'does not take the messages' in server.said()),
     server.said())
taken = len(slow.all())
true('a subscriber that is closed was sent no more than 32 MiB', taken < LIMIT, taken)
equal('one line of the log tells of the subscriber that was closed', 1,
      server.said().count('does not take the messages of its subscriptions'))
true('no line of the log has a value', 'secret' not in server.said())
equal('the server goes on after it has closed a subscriber', True, ask(writer, 'PING', '+PONG\r\n'))
server.stop('subscribers')

# Silent clients
server = Server('-B', 'redis', '--idle-timeout', 1, program=PROGRAM)
listening, silent = subscriber(server), server.connect()
silent.send('PING\r\n')
equal('a silent client is closed', '+PONG\r\n', silent.all())
equal('a silent subscriber is not', True, ask(listening, 'PING', words('*', 'pong', '')))
server.stop('silent clients')

if REAL:
    # Belts
    server = Server('-B', 'redis', belt='other')
    client = server.connect()
    client.send(f'SUBSCRIBE {EXPIRED}\r\n')
    equal('a belt that drops what expires has no subscribers',
          "-ERR belt other does not tell what expires: 'hbctl set other --on-expire notify' lets it\r\n",
          client.until(b'\r\n'))
    true('the log has the refused subscription',
         at_last(lambda: "'SUBSCRIBE' is refused: belt other" in server.said()), server.said())
    hbctl('set', 'other', '--on-expire', 'notify')
    put(client, 'old')
    true('an event waits in a belt without subscribers',
         at_last(lambda: '"queued":1' in hbctl('info', 'other', '--json').replace(' ', '')),
         hbctl('info', 'other', '--json'))
    client = subscriber(server)
    writer = server.connect()
    put(writer, 'new')
    equal('a subscriber gets nothing older than its subscription', message('new'),
          read(client, message('new')))

    # Time that is moved by hand
    other = lambda *words: hbctl('-b', 'other', *words)  # noqa: E731
    other('halt')
    put(writer, 'a', 'b', ms=5000)
    put(writer, 'late', ms=60000)
    other('advance', '5100ms')
    expected = message('a') + message('b')
    equal('a key comes one interval of the belt after its time, which nothing has read', sorted(['a', 'b']),
          sorted(part.split('\r\n')[-2] for part in read(client, expected).split('*3\r\n')[1:]))

    # Another belt of the name
    hbctl('destroy', 'other')
    true('the log tells of a belt that is gone', at_last(lambda: 'tells no more' in server.said()), server.said())
    make('other', '--on-expire', 'notify')
    put(writer, 'again')
    equal('subscribers go on with the next belt of the name', message('again'), read(client, message('again')))

    # Other readers
    client.send('UNSUBSCRIBE\r\n')
    read(client, words('*', 'unsubscribe', EXPIRED, 0))
    put(writer, 'taken')
    equal('without subscribers other programs get the events', 'taken',
          hbctl('-b', 'other', 'events', '--follow', '--max', 1).split('\t')[2])
    rival = Server('-B', 'redis', belt='other')
    one, two = subscriber(server), subscriber(rival)
    keys = [f'shared:{i}' for i in range(2000)]
    put(writer, *keys, ms=1)
    put(writer, 'end', ms=1)
    size = sum(len(message(key)) for key in [*keys, 'end'])
    one.socket.setblocking(False)
    two.socket.setblocking(False)
    found = {one: b'', two: b''}

    def collect():
        for reader in found:
            try:
                found[reader] += reader.socket.recv(1 << 20)
            except BlockingIOError:
                pass
        return sum(map(len, found.values())) == size

    true('two servers of a belt have all events', at_last(collect), found)
    got = [part.split(b'\r\n')[-2].decode() for bytes_ in found.values() for part in bytes_.split(b'*3\r\n')[1:]]
    equal('each event of a belt goes to one of two servers', sorted([*keys, 'end']), sorted(got))
    true('the log of a server that misses events says so', not all(found.values()) or at_last(
        lambda: 'subscribers miss' in server.said() + rival.said()), server.said() + rival.said())
    rival.stop('the second server of a belt')
    server.stop('belts')
finish()
