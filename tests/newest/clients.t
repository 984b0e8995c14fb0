#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""clients.t FOLDER MODULES [NAME...] - the newest clients of memcached or Redis have the same results with hbserve as
with that server.

Each program of FOLDER, which is clients/ or redis/, makes calls of one client on a server, and prints a line for each:
NAME: RESULT. Those with memcached or Redis are what hbserve has to give. Where hbserve gives others, a file beside the
program has first the lines of that server and then those of hbserve, behind a remark that gives the reason:

    # differs: TEXT
    m| NAME: RESULT
    h| NAME: RESULT

After all clients of Redis, the scripts that they have sent have to be those that hbserve knows, so that a library
that sends other ones is noticed.

MODULES is the directory with the modules of Node.js. The script runs in enter.sh's root directory, with hbserve-fake
for hbserve, with clients of memcached in a network namespace of its own. With a NAME, only programs of this name run.
In a guest, where HBSERVE is "hbserve", they run with that, on belts, and results/ has the lines of the other server
from a run outside, which has written them to RESULTS.
"""

import difflib
import fcntl
import glob
import os
import re
import shutil
import socket
import struct
import subprocess
import sys

OURS = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f'{OURS}/../serve')

from serve import DIRECTORY, Server, equal, finish, make_belt, result, true
from watch import Watch

RESULTS = f'{OURS}/../../.cache/build/newest/results'
PORT = 11211
# Programs of Go are compiled already, and found by PATH.
INTERPRETERS = {'.go': None, '.mjs': 'node', '.php': 'php', '.py': 'python3', '.rb': 'ruby', '.sh': 'sh'}
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
# A line of a program that does not know its client, or has ended before its end.
BROKEN = re.compile(r'^status |\b(Type|Reference|Syntax|Name|Attribute|Import|Module|NoMethod|Load)\w*Error\b|Call to undef')
# Scripts that these clients send and hbserve refuses.
REFUSED = {
    'e0e1f9fabfc9d4800c877a703b823ac0578ff8db': 'return 1',
    '19c9778cd6391e2ee9f90aa518bf56256d15b4ae': 'limits: moving window, which needs a list',
    'e8ac2a60cb040b0dbb56815a1e9c6fd032ce62e7': 'limits: sliding window, which renames a key',
    '29cc07bd431ccbf64637e5dcb60484560fdfa2da': 'Laravel: throttle, which needs a hash',
    '43ebdb49120d170e08af560cb4e46e36f8585936': 'redis-semaphore: a semaphore, which needs a sorted set',
    'b5745b5be27d9033eb5d3eb254df2faf502b88df': 'Symfony: a shared lock, which needs a sorted set',
}


def raise_loopback():
    """Let the network namespace, or the guest, reach itself, as "ip link set lo up" does."""
    with socket.socket() as one:
        fcntl.ioctl(one, SIOCSIFFLAGS, struct.pack('16sH14x', b'lo', IFF_UP))


def read_differences(path):
    """The differences that a file has, in their order: lines of the server, and those of hbserve in their place."""
    differences, reason, last = [], '', ''
    if not os.path.exists(path):
        return []
    with open(path, encoding='utf-8') as file:
        for line in file.read().splitlines():
            if line.startswith('# differs: ') or not line:
                reason = line
            elif line[:3] in ('m| ', 'r| ', 'h| '):
                if not reason:
                    raise RuntimeError(f'{path} gives no reason for a difference: {line}')
                if line[0] != 'h' and last[:1] in ('', '#', 'h'):
                    differences.append(([], []))
                differences[-1][line[0] == 'h'].append(line[3:])
            last = line
    return differences


def expect(path, lines):
    """The lines that hbserve has to give, by those of the server and the differences in a file."""
    wanted, at = list(lines), 0
    for old, new in read_differences(path):
        places = [i for i in range(at, len(wanted)) if wanted[i:i + len(old)] == old]
        if not places:
            return [f'{path}: the server does not give {old}']
        wanted[places[0]:places[0] + len(old)] = new
        at = places[0] + len(new)
    return wanted


def calls(path, socket_path):
    """Run a program. Returns the lines that it prints."""
    name, kind = os.path.splitext(path)
    words = [INTERPRETERS[kind], path] if INTERPRETERS[kind] else [os.path.basename(name)]
    done = subprocess.run([*words, socket_path, str(PORT)], capture_output=True, timeout=300)
    lines = done.stdout.decode(errors='backslashreplace').split('\n')[:-1]
    said = done.stderr.decode(errors='backslashreplace')
    return lines + [f'status {done.returncode}: {said}'] if done.returncode or said else lines


def start(name, is_by_port):
    """Start a server, on a unix socket or on a port: memcached has no options for both."""
    if name == 'memcached':
        # "stats cachedump" lists the entries of one queue, which has all of them without that thread.
        server = Server(*(['-l', '127.0.0.1', '-p', PORT] if is_by_port else []), '-u', 'root', '-o',
                        'no_lru_maintainer', program='memcached', belt=None, unix=not is_by_port)
    elif name == 'redis-server':
        return Server(program='redis-server')
    elif folder == 'redis':
        return Server('--protocol', 'redis', '--database', '1=limits', program=name)
    else:
        server = Server('-l', '127.0.0.1', '-p', PORT, '--enable-dump', program=name)
    if is_by_port:
        server.accepts(('127.0.0.1', PORT))
    return server


def knows(server, digest):
    """Whether a server knows a script."""
    client = server.connect()
    client.send(f'SCRIPT EXISTS {digest}\r\n')
    return client.exactly(len('*1\r\n:1\r\n')) == b'*1\r\n:1\r\n'


os.environ['FAKE_GRACE_MS'] = '60000'
folder, modules, *names = sys.argv[1:]
ours = os.environ.get('HBSERVE', 'hbserve-fake')
theirs = 'redis-server' if folder == 'redis' else 'memcached'
seen, known = set(), set()
in_guest = ours == 'hbserve'
for belt in ('main', 'limits') if in_guest else ():
    make_belt(belt, '--ttl', '5m')('resume')
if folder == 'clients' or in_guest:
    raise_loopback()
# Node.js looks for modules above the program.
programs = shutil.copytree(f'{OURS}/{folder}', f'{DIRECTORY}/programs')
shutil.copy(f'{OURS}/redis/show.mjs', programs)
os.symlink(os.path.abspath(modules), f'{DIRECTORY}/node_modules')
for program in sorted(glob.glob(f'{programs}/*')):
    name, kind = os.path.splitext(os.path.basename(program))
    if kind not in INTERPRETERS or name == 'show' or (names and name not in names):
        continue
    results = []
    if in_guest:
        with open(f'{OURS}/results/{name}', encoding='utf-8') as file:
            results.append(file.read().split('\n')[:-1])
    for server_name in (ours,) if in_guest else (theirs, ours):
        server = start(server_name, is_by_port=kind == '.mjs')
        watch = Watch(server.path) if folder == 'redis' and server_name == 'hbserve-fake' else server
        found = calls(program, watch.path)
        results.append(found)
        true(f'{name}: with {server_name}, there are results, and the program itself has no error',
             found and not any(BROKEN.search(line) for line in found), '\n'.join(found))
        if watch != server:
            seen |= watch.seen
            known |= {digest for digest in watch.seen if knows(server, digest)}
        if server_name == ours:
            server.stop(name)
        else:
            server.kill()
    if not in_guest:
        os.makedirs(RESULTS, exist_ok=True)
        with open(f'{RESULTS}/{name}', 'w', encoding='utf-8') as file:
            file.write('\n'.join(results[0]) + '\n')
    wanted = expect(f'{programs}/{name}.txt', results[0])
    differs = list(difflib.unified_diff(wanted, results[1], theirs, ours, n=0, lineterm=''))
    result(f'{name}: {len(wanted)} results with {ours} are those with {theirs}', '\n'.join(differs))
if seen and not names:
    with open(f'{OURS}/../../tools/serve/redis/script.c', encoding='utf-8') as file:
        listed = set(re.findall('"([0-9a-f]{40})"', file.read()))
    equal('hbserve knows each script that the clients have sent', sorted(REFUSED), sorted(seen - known))
    equal('the clients have sent each script that hbserve knows by its digest', [], sorted(listed - seen))
finish()
