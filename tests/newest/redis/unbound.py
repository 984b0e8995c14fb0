# SPDX-License-Identifier: GPL-2.0-only
"""unbound.py SOCKET - the resolver unbound keeps answers on a server, by its module cachedb. It asks a server of names
here, which counts its queries, and is started anew between some of its answers."""
import socket
import struct
import subprocess
import sys
import tempfile
import threading

import redis

from show import show

PATH = sys.argv[1]
client = redis.Redis(unix_socket_path=PATH)
client.flushdb()
names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
names.bind(('127.0.0.1', 0))
free = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
free.bind(('127.0.0.1', 0))
port = free.getsockname()[1]
free.close()
queries = []
file = tempfile.NamedTemporaryFile('w', suffix='.conf')
file.write(f"""
server:
    interface: 127.0.0.1@{port}
    chroot: ""
    username: ""
    pidfile: ""
    directory: "/"
    use-syslog: no
    do-not-query-localhost: no
    local-zone: "test." nodefault
    module-config: "cachedb iterator"
    qname-minimisation: no
    num-threads: 1
    unknown-server-time-limit: 60000
cachedb:
    backend: redis
    redis-timeout: 60000
    redis-server-path: "{PATH}"
    redis-expire-records: yes
remote-control:
    control-enable: no
stub-zone:
    name: "test"
    stub-addr: 127.0.0.1@{names.getsockname()[1]}
""")
file.flush()


def serve():
    """Answer each query by one address."""
    while True:
        query, address = names.recvfrom(4096)
        name = query[12:query.index(b'\0', 12) + 5]
        queries.append(name)
        names.sendto(query[:2] + b'\x84\0\0\1\0\1\0\0\0\0' + name + b'\xc0\x0c\0\1\0\1' +
                     struct.pack('>IH4B', 3000, 4, 192, 0, 2, 7), address)


def resolve(name):
    """Ask unbound for an address, again until it listens."""
    question = b''.join(bytes([len(part)]) + part.encode() for part in name.split('.')) + b'\0\0\1\0\1'
    while True:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.connect(('127.0.0.1', port))
            one.send(b'\0\1\1\0\0\1\0\0\0\0\0\0' + question)
            try:
                return '.'.join(map(str, one.recv(4096)[-4:]))
            except ConnectionRefusedError:
                pass


def with_unbound(*wanted):
    """Addresses that unbound resolves in one run, and the number of queries for them."""
    before = len(queries)
    process = subprocess.Popen(['unbound', '-d', '-c', file.name], stderr=subprocess.DEVNULL)
    try:
        return [resolve(name) for name in wanted], len(queries) - before
    finally:
        process.terminate()
        process.wait()


threading.Thread(target=serve, daemon=True).start()
show('an address, and its queries', lambda: with_unbound('www.test', 'www.test'))
show('after a restart nothing is asked', lambda: with_unbound('www.test'))
show('another name', lambda: with_unbound('mail.test', 'www.test'))
# Another key of it is a try of SET with a time.
answers = [key for key in client.keys('*') if b'UNBOUND' not in key]
show('each answer has a time', lambda: [client.ttl(key) > 0 for key in answers])
show('when all have expired, it asks again', lambda: ([client.pexpire(key, 0) for key in answers],
                                                      with_unbound('www.test')))
