#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""django_own.t TESTS - the tests that Django has of its RedisCache, and of cached sessions, with hbserve-fake.

TESTS is the directory django of redis_own.sh. The script runs in enter.sh's root directory, and prints how many tests
pass. None may be skipped but those that skip themselves: RedisCache has no culling."""

import os
import re
import shutil
import subprocess
import sys

OURS = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f'{OURS}/../serve')

from serve import DIRECTORY, Server, finish, result

# Labels, and the least number of tests that they have.
SETS = {
    'the cache': (['cache.tests.RedisCacheTests'], 59),
    'cached sessions': (['sessions_tests.tests.CacheSessionTests', 'sessions_tests.tests.CacheDBSessionTests'],
                        81),
}
SETTINGS = """
SQLITE = {{'ENGINE': 'django.db.backends.sqlite3'}}
CACHES = {{'default': {{'BACKEND': 'django.core.cache.backends.redis.RedisCache', 'LOCATION': 'unix://{path}'}}}}
DATABASES = {{'default': SQLITE, 'other': {{**SQLITE}}}}
SECRET_KEY = 'not secret'
PASSWORD_HASHERS = ['django.contrib.auth.hashers.MD5PasswordHasher']
DEFAULT_AUTO_FIELD = 'django.db.models.AutoField'
USE_TZ = False
"""


def judge(done, least):
    """The fault in what Django's runner has printed, or nothing, and the number of tests that have passed."""
    output = done.stdout.decode(errors='replace')
    ran = re.search(r'^Ran (\d+) tests? ', output, re.M)
    end = re.search(r'^OK(?: \(skipped=(\d+)\))?$', output, re.M)
    passed = int(ran[1]) - int(end[1] or 0) if ran and end else 0
    return '' if done.returncode == 0 and passed >= least else f'{passed} pass\n{output[-5000:]}', passed


server = Server('--protocol', 'redis', program='hbserve-fake')
tests = shutil.copytree(f'{sys.argv[1]}/tests', f'{DIRECTORY}/tests')
with open(f'{tests}/redis_settings.py', 'w', encoding='utf-8') as file:
    file.write(SETTINGS.format(path=server.path))
with open(f'{sys.argv[1]}/version', encoding='utf-8') as file:
    version = file.read().strip()
for name, (labels, least) in SETS.items():
    done = subprocess.run(['python3', 'runtests.py', '--settings=redis_settings', '--parallel=1', *labels], cwd=tests,
                          env={**os.environ, 'PYTHONPATH': os.path.abspath(sys.argv[1])}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=600)
    wrong, passed = judge(done, least)
    result(f"Django's own tests of {name} pass", wrong)
    print(f"# figure: {passed} tests of {version} pass: {name}")
server.stop("Django's own tests")
finish()
