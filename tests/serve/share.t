#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""share.t - clients of hbserve and users of the device work on the same entries."""

import os
import subprocess
import threading
import time

from serve import DIRECTORY, Connection, Server, at_last, entry, equal, finish, hbctl, make_belt, true

on = make_belt('main', '--ttl', '5m')
server = Server()
client = server.connect()
other = server.connect()


# The processor's number of the system call ioctl, with a blank.
IOCTL = {'x86_64': '16 ', 'aarch64': '29 ', 's390x': '54 '}[os.uname().machine]


def left(key):
    """Milliseconds left of an entry; None if it has no deadline."""
    return entry(on, key).get('ttl_ms', 'no entry')


# Values
on('put', 'a', 'one', '--flags', 5)
equal('get returns what hbctl has put, with its flags', 'VALUE a 5 3 one END', client.ask('get a'))
equal('set stores', 'STORED', client.set('b', 'two', flags=4294967295))
equal('hbctl gets what a client has set', 'two', on('get', 'b'))
equal('hbctl sees the flags of a client', 4294967295, entry(on, 'b').get('flags'))
client.ask('delete a')
equal('hbctl misses what a client has deleted', {}, entry(on, 'a'))
on('put', 'bytes', stdin=bytes(range(256)) * 40)
client.send('get bytes\r\n')
equal('get returns all bytes that hbctl has put',
      b'VALUE bytes 0 10240\r\n' + bytes(range(256)) * 40 + b'\r\nEND\r\n', client.exactly(10240 + 28))
on('put', 'x y', 'blank')
client.set('k', '1')
equal('mg with a key in base64 returns an entry whose key has a blank', 'VA 5 blank',
      client.ask('mg eCB5 b v'))
client.ask('flush_all')
equal('flush_all empties the belt', '0', on('size'))

# Versions
client.set('k', 'a')
version = client.ask('gets k').split()[4]
equal('gets returns the version of the device', str(entry(on, 'k')['version']), version)
on('put', 'k', 'b')
equal('cas with the version from before a put of hbctl fails', 'EXISTS',
      client.ask(f'cas k 0 0 1 {version}', 'c'))
version = client.ask('gets k').split()[4]
on('put', 'k', 'c', '--if-version', version)
equal('hbctl puts over a version that gets has returned', 'c', on('get', 'k'))

# Times
client.set('k', 'v')
equal('an exptime of 0 makes an entry without a deadline', None, left('k'))
client.set('k', 'v', seconds=10)
equal('an exptime of 10 makes a time-to-live of 10 s, and not the one of the belt', 10000, left('k'))
equal('mg t returns the seconds left', 'HD t10', client.ask('mg k t'))
on('advance', '1ms')
equal('mg t returns 10 if 9.999 s are left', 'HD t10', client.ask('mg k t'))
on('advance', '9998ms')
equal('get returns an entry 1 ms before its deadline', 'VALUE k 0 1 v END', client.ask('get k'))
equal('mg t returns 1 if 1 ms is left', 'HD t1', client.ask('mg k t'))
on('advance', '1ms')
equal('get misses an entry at its deadline', 'END', client.ask('get k'))
client.set('t', 'v', seconds=10, flags=7)
on('advance', '3s')
on('put', '--', 'below', '-5')
for request in ('incr below 9', 'decr below 1'):
    equal(f'{request} of a number below 0 that hbctl has put',
          'CLIENT_ERROR cannot increment or decrement non-numeric value', client.ask(request))
equal('a refused incr leaves the number', '-5', on('get', 'below'))
client.ask('append t 0 0 1', 'w')
equal('append keeps the deadline', 7000, left('t'))
equal('append keeps the flags', 7, entry(on, 't').get('flags'))
client.set('k', 'v', seconds=int(time.time()) + 5000)
true('a Unix time is turned into a time-to-live', 4990000 < left('k') <= 5000000, f'found {left("k")} ms')
on('put', 'late', 'v', '--ttl', '1h')
client.ask('flush_all 60')
on('advance', '59s')
equal('flush_all with a delay of 60 leaves an entry for 59 s', 'VALUE late 0 1 v END', client.ask('get late'))
# It runs by the clock of the machine. A later one takes its place, so that none comes during this test.
client.ask('flush_all 36000')

# Conditions of a touch
on('set', 'main', '--refresh-on-get', 'yes')
on('put', 'k', 'v', '--ttl', '90s')
version = entry(on, 'k')['version']
on('advance', '30s')
equal('mg U refuses a touch that is not later', 'NS', client.ask('mg k v T60 Ugt'))
equal('mg U refuses another version', 'EX', client.ask(f'mg k v T100 C{version - 1} U'))
equal('a refused touch leaves the deadline, also where gets refresh it', 60000, left('k'))
equal('mg U touches the version that hbctl has put', 'HD t70', client.ask(f'mg k T70 C{version} U t'))
equal('hbctl sees the deadline of mg U', 70000, left('k'))
on('set', 'main', '--refresh-on-get', 'no')


# Numbers and texts, changed from many sides
def repeat(times, line, right):
    """Send a line many times on a connection of its own. The replies that are wrong go to a list."""
    connection = Connection(server.path)
    for _ in range(times):
        found = connection.ask(*line)
        if not right(found):
            wrong.append(found)
    connection.close()


def at_once(*works):
    """Run the works at once, as threads or processes, and wait for all."""
    threads = [threading.Thread(target=repeat, args=work) for work in works if isinstance(work, tuple)]
    processes = [subprocess.Popen(['sh', '-c', work]) for work in works if isinstance(work, str)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [process.wait() for process in processes]


wrong = []
client.set('n', '0')
statuses = at_once((300, ('incr n 1',), str.isdigit), (300, ('incr n 3',), str.isdigit),
                   (200, ('ma n D5 v',), lambda found: found.startswith('VA ')),
                   'for i in $(seq 60); do hbctl -b main incr n 7 || exit; done >/dev/null',
                   'for i in $(seq 60); do hbctl -b main incr n 11 || exit; done >/dev/null')
equal('incr, ma and hbctl incr at once: each succeeds', ([0, 0], []), (statuses, wrong))
equal('incr, ma and hbctl incr at once: each is counted', str(300 + 900 + 1000 + 420 + 660), on('get', 'n'))
client.set('text', '')
at_once((200, ('append text 0 0 1', 'a'), 'STORED'.__eq__), (200, ('prepend text 0 0 1', 'b'),
                                                            'STORED'.__eq__))
text = on('get', 'text')
equal('append and prepend at once: each succeeds', [], wrong)
equal('append and prepend at once: each byte has its place', 'b' * 200 + 'a' * 200, text)
# Fill leases
client.ask('flush_all')
won = client.ask('mg page N30 c v').split()
equal('mg N of a missing key wins', ('VA', 'W'), (won[0], won[-1]))
equal('mg N of another client loses', 'Z', other.ask('mg page N30 c v').split()[-1])
filler = subprocess.Popen(['hbctl', '-b', 'main', 'get', 'page', '--fill', '--', 'echo', 'not', 'this'],
                          stdout=subprocess.PIPE)
at_last(lambda: open(f'/proc/{filler.pid}/syscall', encoding='ascii').read().startswith(IOCTL))
token = next(word[1:] for word in won if word[0] == 'c')
equal("the winner's ms stores", 'HD', client.ask(f'ms page 5 C{token} T100', 'value'))
equal('hbctl get --fill waits for the winner, and prints its value', b'value', filler.communicate()[0])
equal('the value of the winner has its time-to-live', 100000, left('page'))
begun = f'{DIRECTORY}/begun'
filler = subprocess.Popen(['hbctl', '-b', 'main', 'get', 'made', '--fill', '--', 'sh', '-c',
                           f'touch {begun}; read -r x; printf made'], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE)
at_last(lambda: os.path.exists(begun))
equal('mg N loses while hbctl get --fill runs its command', 'Z', client.ask('mg made N30').split()[-1])
filler.communicate(b'\n')
equal('get returns what the command of hbctl get --fill has made', 'VALUE made 0 4 made END', client.ask('get made'))

# Values that cannot be stored
small = make_belt('small', '--max-bytes', '64K')
refusing = Server(belt='small')
client = refusing.connect()
client.set('k', 'old')
equal('set of a value larger than the belt says so', 'SERVER_ERROR out of memory storing object',
      client.set('k', 'x' * 100000))
equal('set of a value larger than the belt removes the old value', 'END', client.ask('get k'))
client.set('k', 'old')
client.send('set k 0 0 100000\r\n' + 'x' * 100000 + '\r\nget k\r\nmn\r\n')
equal('a get after it in the same pipeline misses as well',
      'SERVER_ERROR out of memory storing object\r\nEND\r\nMN\r\n', client.until(b'MN\r\n'))
refusing.stop('small')

# A belt that is destroyed, and one that is not there yet
passing = make_belt('passing')
lasting = Server(belt='passing')
client = lasting.connect()
client.set('k', 'v')
hbctl('destroy', 'passing')
for request in (['get k'], ['set k 0 0 1', 'v'], ['mg k v'], ['incr k 1'], ['delete k'], ['touch k 1']):
    found = client.ask(*request)
    true(f'{request[0]}: a belt that was destroyed is an error, and not a miss',
         found.startswith('SERVER_ERROR '), found)
true('the error names the belt', 'passing' in found, found)
passing = make_belt('passing')
equal('the new belt of the same name is served', 'STORED', client.set('k', 'w'))
equal('hbctl gets from it', 'w', passing('get', 'k'))
lasting.stop('destroyed')

# Belts by prefix
shop = make_belt('shop')
many = Server('--belts-by-prefix')
client = many.connect()
equal('a key with a prefix is of that belt', 'STORED', client.set('shop:cart', 'full'))
equal('hbctl finds it there without the prefix', 'full', shop('get', 'cart'))
client.set('plain', 'main')
equal('get of keys of two belts returns both, in order', 'VALUE plain 0 4 main VALUE shop:cart 0 4 full END',
      client.ask('get plain shop:cart shop:none none'))
found = client.ask('get nowhere:k')
true('a prefix without a belt is an error that names it',
     found.startswith('SERVER_ERROR ') and 'nowhere' in found, found)
many.stop('prefix')

# A client that reads slowly, while others use more belts than a thread keeps descriptors for
single = Server('--belts-by-prefix', '-t', 1)
slow, client = single.connect(), single.connect()
value = 'right' * 80000
shop('put', 'large', stdin=value.encode())
for i in range(64):
    make_belt(f'shop{i}')('put', 'large', 'wrong')
slow.send('get shop:large\r\n' * 50 + 'mn\r\n')
slow.drained()
equal('another client gets from 64 other belts', [],
      [i for i in range(64) if client.ask(f'get shop{i}:large') != f'VALUE shop{i}:large 0 5 wrong END'])
replies = slow.until(b'MN\r\n')
equal('a slow client gets all its values from the belt that it has named', (50 * 80000, 0),
      (replies.count('right'), replies.count('wrong')))

# A thread keeps descriptors for so many clients that read slowly, each with a belt of its own.
crowd = [single.connect() for i in range(64)]
for i, one in enumerate(crowd):
    hbctl('-b', f'shop{i}', 'put', 'large', stdin=f'({i:03})'.encode() * 80000)
    one.send(f'get shop{i}:large\r\n' * 5 + 'mn\r\n')
    one.drained()
equal('another client uses another belt meanwhile', 'VALUE shop:cart 0 4 full END', client.ask('get shop:cart'))
equal('each of them gets the values of its belt', [],
      [i for i, one in enumerate(crowd) if one.until(b'MN\r\n').count(f'({i:03})') != 5 * 80000])
single.stop('slow')
for i in range(64):
    hbctl('destroy', f'shop{i}')

# Rights
closed = make_belt('readable', '--mode', '0644')
closed('put', 'k', '1')
os.chmod('/dev/hashbelt', 0o666)


def become_nobody():
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)


os.chmod(os.path.dirname(server.path), 0o777)
reader = Server(belt='readable', preexec_fn=become_nobody)
client = reader.connect()
equal('a server without the right to write reads', 'VALUE k 0 1 1 END', client.ask('get k'))
for request in (['set k 0 0 1', 'w'], ['delete k'], ['incr k 1'], ['touch k 1'], ['flush_all']):
    found = client.ask(*request)
    true(f'{request[0]}: without the right to write it is an error', found.startswith('SERVER_ERROR '), found)
reader.stop('rights')
os.chmod('/dev/hashbelt', 0o600)

# Many keys
client = server.connect()
client.ask('flush_all')
client.send(''.join(f'set key{i} {i} 0 {len(str(i))} noreply\r\n{i}\r\n' for i in range(5000)) + 'mn\r\n')
equal('5000 sets with noreply in a pipeline have no reply', 'MN\r\n', client.until(b'MN\r\n'))
equal('all are stored', '5000', on('size'))
client.send('get ' + ' '.join(f'key{i}' for i in range(5000)) + '\r\n')
equal('a get of 5000 keys returns all in order',
      ''.join(f'VALUE key{i} {i} {len(str(i))}\r\n{i}\r\n' for i in range(5000)) + 'END\r\n',
      client.until(b'END\r\n'))

server.stop('sharing')

# The directory of the service
os.makedirs('/run/hashbelt', exist_ok=True)
server = subprocess.Popen(['hbserve', '-s', '/run/hashbelt/main.sock', '-b', 'main'])
at_last(lambda: os.path.exists('/run/hashbelt/main.sock'))
said = hbctl('doctor', status=None)
true('hbctl doctor names the processes of hbserve and their sockets',
     'serve    processes of hbserve: 1; clients connect to /run/hashbelt/main.sock' in said, said)
server.terminate()
server.wait()

# Lists of keys
server = Server('--enable-dump', '--threads', 1)
client = server.connect()
on = make_belt('main', '--ttl', '5m')
# No client of memcached can ask for it.
on('put', 'x' * 251, 'long')
for first in range(0, 20000, 1000):
    client.send(''.join(f'set {"k" * 60}{number} 0 0 1 noreply\r\na\r\n' for number in range(first, first + 1000)))
client.send('lru_crawler metadump all\r\n')
client.until(b'OK\r\n')
listed = client.until(b'END\r\n').splitlines()
equal('lru_crawler metadump lists each key of the belt once, and leaves out a long one', (20001, 20001),
      (len(listed), len({line.split()[0] for line in listed})))
other = server.connect()
other.send('lru_crawler mgdump all\r\n')
true('lru_crawler mgdump begins with OK', other.receive().startswith(b'OK\r\nmg '), 'another reply')
make_belt('main', '--ttl', '5m')
equal('the server answers while a client that lists keys reads nothing', 'STORED', client.set('k', 'v'))
left = other.until(b'belt main does not exist\r\n')
true('a list of keys ends by an error when the belt is destroyed', 'SERVER_ERROR ' in left and 'EN\r\n' not in left,
     left[-200:])
other.close()
equal('the server answers when a client that lists keys has gone', 'OK', client.ask('flush_all'))
client.set('new', 'v')
make_belt('main', '--ttl', '5m')
client.send('lru_crawler metadump all\r\n')
equal('the keys of a belt that was made again can be listed', 'OK\r\nEND\r\n', client.until(b'\nEND\r\n'))
server.stop('--enable-dump')
finish()
