#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""redis_own.t TESTS - the tests that Redis has of counters, strings, times-to-live and scans, with hbserve-fake.

TESTS is the directory of redis_own.sh. Those that do not pass have to be the ones that redis_own.txt names: there, below
a reason, a line is the name of a test, with "? " before that of one that passes at times. The script runs in a network
namespace of its own, and prints how many pass."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter

OURS = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f'{OURS}/../serve')

from serve import DIRECTORY, Server, equal, finish, true

PORT = 21211
UNITS = ('type/incr', 'type/string', 'expire', 'quit', 'scan')

subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True)
# The tests write below their own directory.
tests = shutil.copytree(sys.argv[1], f'{DIRECTORY}/tests')
with open(f'{OURS}/redis_own.txt', encoding='utf-8') as file:
    lines = [line for line in file.read().splitlines() if line and not line.startswith('#')]
known = Counter(line for line in lines if not line.startswith('? '))
at_times = Counter(line[2:] for line in lines if line.startswith('? '))
server = Server('-l', '127.0.0.1', '-p', PORT, '--protocol', 'redis', program='hbserve-fake', unix=False)
server.accepts(('127.0.0.1', PORT))
passed, others = [], []
for unit in UNITS:
    done = subprocess.run(['./runtest', '--host', '127.0.0.1', '--port', str(PORT), '--singledb', '--clients', '1',
                           '--durable', '--single', f'unit/{unit}'], cwd=tests, capture_output=True, timeout=600)
    said = re.sub('\x1b\\[[0-9;]*m', '', done.stdout.decode(errors='replace'))
    ended = re.findall(r'^\[ok\]: (.*) \(\d+ ms\)$', said, re.M)
    passed += ended
    # At the end of its output stands each failed one again.
    others += sorted(set(re.findall(r'^\[err\]: (.*) in tests/unit/', said, re.M)))
    others += re.findall(r'^\[ignore\]: (.*)$', said, re.M)
    true(f'{unit}: tests pass, and the last one ends', ended and 'The End' in said, said[-2000:])
found = Counter(others)
equal('redis_own.txt has a reason for each test that does not pass', [], sorted(found - known - at_times))
equal('each test with a reason does not pass', [], sorted(known - found))
with open(f'{tests}/version', encoding='utf-8') as file:
    print(f'# figure: {len(passed)} of {len(passed) + len(others)} tests of {file.read().strip()} pass')
server.stop('the tests of Redis')
finish()
