# SPDX-License-Identifier: GPL-2.0-only
"""exporter.py SOCKET - prometheus-redis-exporter reads the figures of a server, and the values of two keys."""
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import redis

from show import show

PATH = sys.argv[1]
# Figures with the same values on a server that was just started, and those that it has at all.
SAME = ('redis_up', 'redis_db_keys', 'redis_key_size', 'redis_key_value', 'redis_exporter_last_scrape_error')
PRESENT = ('redis_connected_clients', 'redis_connections_received_total', 'redis_evicted_keys_total',
           'redis_expired_keys_total', 'redis_keyspace_hits_total', 'redis_keyspace_misses_total',
           'redis_memory_max_bytes', 'redis_memory_used_bytes', 'redis_uptime_in_seconds')

client = redis.Redis(unix_socket_path=PATH)
client.flushdb()
client.set('number', 41, ex=1000)
client.incr('number')
client.set('text', 'five5')
free = socket.socket()
free.bind(('127.0.0.1', 0))
port = free.getsockname()[1]
free.close()
exporter = subprocess.Popen(['prometheus-redis-exporter', '-redis.addr', f'unix://{PATH}',
                             '-check-single-keys', 'db0=number,db0=text',
                             '-web.listen-address', f'127.0.0.1:{port}'], stderr=subprocess.DEVNULL)


def read():
    """The lines of the exporter, once it serves them."""
    while exporter.poll() is None:
        try:
            with urllib.request.urlopen(f'http://127.0.0.1:{port}/metrics', timeout=60) as answer:
                return answer.read().decode().splitlines()
        except urllib.error.URLError as error:
            if not isinstance(error.reason, ConnectionRefusedError):
                raise
            time.sleep(0.05)
    return []


# Redis has 16 databases, and hbserve those of its options.
lines = [line for line in read() if not re.search('db="db[1-9]', line)]
for name in SAME:
    show(name, lambda: sorted(line for line in lines if re.match(f'{name}[{{ ]', line)))
for name in PRESENT:
    show(name, lambda: any(re.match(f'{name}[{{ ]', line) for line in lines))
exporter.terminate()
exporter.wait()
