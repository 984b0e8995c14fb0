#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""clients.t MODULES [NAME...] - the newest clients of memcached have the same results with hbserve as with memcached.

Each program of clients/ makes calls of one client on a server, and prints a line for each: NAME: RESULT. The file
beside it has these lines, as the newest memcached gives them. Where the results differ, the file has two lines, the
first one for memcached and the second one for hbserve, behind a remark that gives the reason:

    # differs: TEXT
    m| NAME: RESULT
    h| NAME: RESULT

MODULES is the directory with the modules of Node.js. The script runs in enter.sh's root directory, with hbserve-fake
for hbserve, in a network namespace of its own. With a NAME, only programs of this name run.
"""

import difflib
import fcntl
import glob
import os
import shutil
import socket
import struct
import subprocess
import sys

OURS = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f'{OURS}/../serve')

from serve import DIRECTORY, Server, finish, result, true

PORT = 11211
INTERPRETERS = {'.mjs': 'node', '.php': 'php', '.py': 'python3', '.rb': 'ruby', '.sh': 'sh'}
SIOCSIFFLAGS, IFF_UP = 0x8914, 1


def raise_loopback():
    """Let the network namespace reach itself, as "ip link set lo up" does."""
    with socket.socket() as one:
        fcntl.ioctl(one, SIOCSIFFLAGS, struct.pack('16sH14x', b'lo', IFF_UP))


def read_expected(path):
    """The lines of a file: those of memcached, and those of hbserve."""
    lines = {'m': [], 'h': []}
    has_reason = False
    with open(path, encoding='utf-8') as file:
        for line in file.read().splitlines():
            if line.startswith('#'):
                has_reason = has_reason or line.startswith('# differs: ')
            elif line[:3] in ('m| ', 'h| '):
                if not has_reason:
                    raise RuntimeError(f'{path} gives no reason for a difference: {line}')
                lines[line[0]].append(line[3:])
            else:
                has_reason = False
                if line:
                    lines['m'].append(line)
                    lines['h'].append(line)
    return lines


def calls(path, server):
    """Run a program. Returns the lines that it prints."""
    interpreter = INTERPRETERS[os.path.splitext(path)[1]]
    done = subprocess.run([interpreter, path, server.path, str(PORT)], capture_output=True, timeout=300)
    lines = done.stdout.decode(errors='backslashreplace').split('\n')[:-1]
    said = done.stderr.decode(errors='backslashreplace')
    return lines + [f'status {done.returncode}: {said}'] if done.returncode or said else lines


def start(name, is_by_port):
    """Start a server, on a unix socket or on a port: memcached has no options for both."""
    if name == 'memcached':
        # "stats cachedump" lists the entries of one queue, which has all of them without that thread.
        server = Server(*(['-l', '127.0.0.1', '-p', PORT] if is_by_port else []), '-u', 'root', '-o',
                        'no_lru_maintainer', program='memcached', belt=None, unix=not is_by_port)
    else:
        server = Server('-l', '127.0.0.1', '-p', PORT, '--enable-dump', program='hbserve-fake')
    if is_by_port:
        server.accepts(('127.0.0.1', PORT))
    return server


os.environ['FAKE_GRACE_MS'] = '60000'
modules, *names = sys.argv[1:]
raise_loopback()
os.symlink(os.path.abspath(modules), f'{DIRECTORY}/node_modules')
for program in sorted(glob.glob(f'{OURS}/clients/*')):
    name, kind = os.path.splitext(os.path.basename(program))
    if kind not in INTERPRETERS or (names and name not in names):
        continue
    # Node.js looks for modules above the program.
    program = shutil.copy(program, DIRECTORY)
    expected = read_expected(f'{OURS}/clients/{name}.txt')
    for server_name in ('memcached', 'hbserve'):
        server = start(server_name, is_by_port=kind == '.mjs')
        found = calls(program, server)
        differs = list(difflib.unified_diff(expected[server_name[0]], found, 'expected', 'found', n=0, lineterm=''))
        result(f'{name}: {len(found)} results with {server_name} are as expected', '\n'.join(differs))
        true(f'{name}: there are results with {server_name}', found)
        if server_name == 'hbserve':
            server.stop(name)
        else:
            server.kill()
finish()
