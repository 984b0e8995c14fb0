#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""start.t - what hbserve reads and opens when it starts: options, sockets, files of passwords, certificates. The server
is hbserve-fake, whose entries are in its own memory, in a network namespace of its own."""

import fcntl
import os
import socket
import ssl
import stat
import subprocess
import sys
import warnings

from serve import DIRECTORY, Connection, Server, at_last, equal, finish, result, true

if 'APART' not in os.environ:
    os.environ['APART'] = 'yes'
    os.execvp('unshare', ['unshare', '--net', *(['--map-root-user'] if os.getuid() else []), *sys.orig_argv])
subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True)
warnings.simplefilter('ignore', DeprecationWarning)    # of old TLS, which is to be refused
PORT = 11211
PATH = f'{DIRECTORY}/socket'
# A group beside that of this process, if there is one.
with open('/proc/self/gid_map', encoding='ascii') as map_of_groups:
    GROUP = 1 if int(map_of_groups.read().split()[2]) > 1 else 0
HAS_IPV6 = b'inet6 ::1' in subprocess.run(['ip', 'address', 'show', 'lo'], check=True, capture_output=True).stdout


def begin(*options, **more):
    return Server(*options, program='hbserve-fake', **{'belt': None, 'threads': None, **more})


def refused(options, says, status=1):
    """A check: with these options, which blanks separate, it ends with a status and one line that has a text."""
    done = subprocess.run(['hbserve-fake', *(options.split(' ') if options else [])], capture_output=True, timeout=60)
    said = (done.stdout + done.stderr).decode('latin1')
    good = done.returncode == status and says in said and said.count('\n') == 1 and said.endswith('\n')
    result(f"'{options[:70]}' is refused: {says}", '' if good else f'status {done.returncode}: {said}')


def write(name, content, mode=0o600):
    """Write a file. Returns its path."""
    path = f'{DIRECTORY}/{name}'
    with open(path, 'wb') as file:
        file.write(content)
    os.chmod(path, mode)
    return path


def settings(options, **expected):
    """A check: with these options it says that it has these settings."""
    server = begin(*options.split())
    said = dict(line.split(' ', 2)[1:] for line in server.connect().ask('stats settings').replace(
        ' STAT ', '\nSTAT ').removesuffix(' END').split('\n'))
    equal(f"the settings that '{options}' makes", expected, {name: said[name] for name in expected})
    server.stop('settings')


def flags_of(pid):
    """The flags of the sockets that a process has; None if it closes one meanwhile."""
    flags = set()
    for number in os.listdir(f'/proc/{pid}/fd'):
        try:
            if os.readlink(f'/proc/{pid}/fd/{number}').startswith('socket:'):
                with open(f'/proc/{pid}/fdinfo/{number}', encoding='ascii') as info:
                    flags.add(int(info.read().split('flags:')[1].split()[0], 8) & (os.O_NONBLOCK | os.O_CLOEXEC))
        except FileNotFoundError:
            return None
    return flags


# Options
settings('', maxconns='1024', tcpport='0', inter='NULL', verbosity='0', umask='700', shutdown_command='no',
         num_threads='4', item_size_max='1048576', idle_timeout='0', ssl_enabled='no', belt='default',
         belts_by_prefix='no', auth_enabled_ascii='no', dump_enabled='no')
letters = {'umask': '660', 'inter': '127.0.0.1,127.0.0.2', 'tcpport': '5000', 'belt': 'sessions', 'num_threads': '3',
           'maxconns': '9', 'item_size_max': '524288', 'verbosity': '2', 'shutdown_command': 'yes'}
settings('-a 0660 -l 127.0.0.1,127.0.0.2 -p 5000 -b sessions -t 3 -c 9 -I 512k -vv -A -U 0 -B ascii', **letters)
settings('--unix-mask=660 --listen=127.0.0.1,127.0.0.2 --port=5000 --belt=sessions --threads=3 --conn-limit=9 '
         '--max-item-size=512K --verbose --verbose --enable-shutdown --udp-port=0 --protocol memcached '
         '--belts-by-prefix --enable-dump --idle-timeout=6', **letters, belts_by_prefix='yes', dump_enabled='yes',
         idle_timeout='6')
settings('-p 12', inter='127.0.0.1', tcpport='12')
settings('-l 127.0.0.3', inter='127.0.0.3', tcpport='11211')
settings('-l 127.0.0.3 -p 0 -o idle_timeout=8 -I 1m', inter='NULL', tcpport='0', idle_timeout='8',
         item_size_max='1048576')
for options, says in (
        ('-c 0', "--conn-limit: '0' is not a number from 1 to 1000000"), ('-c 1000001', "--conn-limit: '1000001'"),
        ('-c -1', "--conn-limit: '-1'"), ('-c 5x', "--conn-limit: '5x'"), ('-c 99999999999999999999', '--conn-limit'),
        ('-t 0', "--threads: '0'"), ('-t 257', "--threads: '257'"),
        ('-p 65536', "--port: '65536' is not a number from 0 to 65535"), ('-p +5', "--port: '+5'"),
        ('-I 1023', "--max-item-size: '1023' is not a size from 1024 to 1048576 bytes"),
        ('-I 1025k', "--max-item-size: '1025k'"), ('-I 2m', "--max-item-size: '2m'"),
        ('-I 1mb', "--max-item-size: '1mb'"), ('-I 17592186044416m', '--max-item-size'),
        ('-I k', "--max-item-size: 'k'"), ('-a 1000', "--unix-mask: '1000' is not a mode from 0 to 0777"),
        ('-a 8', "--unix-mask: '8'"), ('-a -s', "--unix-mask: '-s'"), ('-s x -s y', '--unix-socket is given twice'),
        ('-s', "option '-s' needs an argument"), ('--belt=', '--belt needs a BELT'),
        ('--tls=yes', '--tls takes no argument'), ('--unknown', "there is no option '--unknown'"),
        ('-q', 'there is no option -q'), ('sessions', "'sessions' is not an option"),
        ('-Z', '--tls needs --tls-cert and --tls-key'),
        ('-Z --tls-cert x', '--tls needs --tls-cert and --tls-key'), ('--tls-verify', 'need --tls'),
        ('--tls-ca x', 'need --tls'), ('-Z --tls-cert x --tls-key y --tls-verify', '--tls-verify needs --tls-ca'),
        ('--group daemon', 'give --unix-socket as well'), ('-U 11211', 'hbserve has no UDP'),
        ('-o modern', "no extended option 'modern'"), ('-o idle_timeout', "no extended option 'idle_timeout'"),
        ('-o idle_timeout=x', "--idle-timeout: 'x'"), ('-o memory_limit=64', "no extended option 'memory_limit=64'"),
        ('-o help=1', 'no extended option'), ('-o extended=extended=x', 'no extended option'),
        ('-m 64', 'hbctl set BELT --max-bytes'), ('-M', '--when-full reject'),
        ('-d', '--daemon (-d) of memcached: start it by systemd'), ('-u memcache', 'start it as that user'),
        ('-S', 'use --auth-file'), ('-B binary', "--protocol: 'binary' is not memcached or redis"),
        ('--protocol redis --belts-by-prefix', '--belts-by-prefix is for memcached'),
        ('--database 1=b', '--database needs --protocol redis'),
        ('--protocol redis --database 0=b', "'0=b' is not NUMBER=BELT"),
        ('--protocol redis --database 16=b', 'with a number from 1 to 15'),
        ('--protocol redis --database 1=', "'1=' is not NUMBER=BELT"),
        ('--protocol redis --database b', "'b' is not NUMBER=BELT"),
        ('--completion tcsh', "'tcsh' is not bash|fish|zsh")):
    refused(options, says, 2)
for options, has in (('--help', '  -s, --unix-socket FILE '), ('-V -q', 'hbserve 0'),
                     *((f'--completion {shell}', 'belts-by-prefix') for shell in ('bash', 'fish', 'zsh'))):
    done = subprocess.run(['hbserve-fake', *options.split()], capture_output=True, check=False, timeout=60)
    true(f'{options} prints the options that hbserve has', done.returncode == 0 and has in done.stdout.decode() and
         b'daemon' not in done.stdout, done)
server = begin('--protocol', 'redis', '--database', '1=limits', '--database', '15=z', '-l', '127.0.0.1')
server.accepts(('127.0.0.1', 6379))
client = server.connect(('127.0.0.1', 6379))
client.send('SELECT 1\r\nSELECT 15\r\nSELECT 2\r\n')
equal('--database names belts by numbers', '+OK\r\n+OK\r\n-ERR DB index is out of range\r\n', client.all())
server.stop('--protocol redis, on its port')

# A unix socket
mask = os.umask(0o077)
server = begin('-s', PATH, '-a', '0646', '--group', GROUP, unix=False)
server.accepts(PATH)
found = os.stat(PATH)
equal('a unix socket has its mode, whatever the umask, and its group', (True, 0o646, GROUP),
      (stat.S_ISSOCK(found.st_mode), stat.S_IMODE(found.st_mode), found.st_gid))
os.umask(mask)
true('its sockets do not block, and no program that is run inherits them',
     at_last(lambda: flags_of(server.process.pid) == {os.O_NONBLOCK | os.O_CLOEXEC}), flags_of(server.process.pid))
refused(f'-s {PATH}', 'belongs to a server that runs')
server.connect(PATH).close()
server.kill()
lock = os.open(DIRECTORY, os.O_RDONLY)
fcntl.flock(lock, fcntl.LOCK_EX)
refused(f'-s {PATH}', 'another server starts in')
os.close(lock)
server = begin('-s', PATH, unix=False)
server.accepts(PATH)
equal('a server takes the place of one that has ended', 'STORED', server.connect(PATH).set('k', 'v'))
os.unlink(PATH)
other = socket.socket(socket.AF_UNIX)
other.bind(PATH)
server.stop('a server whose socket is gone')
true('a server that ends leaves the socket of another one', os.path.exists(PATH))
server = begin('-s', PATH, unix=False)
equal('a unix socket is served', '', server.accepts(PATH) and server.connect(PATH).ask())
server.stop('a unix socket')
true('a server that ends removes its socket', not os.path.exists(PATH))
refused(f'-s {write("file", b"")}', 'is not a socket')
true('a file that is no socket stays', os.path.exists(f'{DIRECTORY}/file'))
refused(f'-s {DIRECTORY}/{"x" * 200}', 'a path of a socket has at most 107 bytes')
refused(f'-s {DIRECTORY}/none/x', f'cannot open {DIRECTORY}/none/')
refused(f'-s {PATH} --group no-such-group', "there is no group 'no-such-group'")
true('there is no socket then', not os.path.exists(PATH))
refused('', 'nothing to listen on')

# TCP
passwords = write('auth', b'alice:secret\n\nbob:two words: and a colon\r\ncarol:x')
server = begin('-l', '127.0.0.1,127.9.9.9:7000' + (',[::1]:7001' if HAS_IPV6 else ''), '-p', PORT)
for address in (('127.0.0.1', PORT), ('127.9.9.9', 7000)):
    server.accepts(address)
    equal(f'{address} is served', 'STORED', server.connect(address).set('k', 'v'))
if HAS_IPV6:
    with socket.create_connection(('::1', 7001)) as six:
        six.sendall(b'mn\r\n')
        equal('an address of IPv6 is served', b'MN\r\n', six.recv(100))
equal('the log is empty', '', server.said())
refused(f'-l 127.0.0.1 -p {PORT}', 'cannot listen on 127.0.0.1')
server.stop('loopback')
for address in ('', '127.0.0.1,', '127.0.0.1:', ':11211', '[127.0.0.1', '[::1]x'):
    refused(f'--listen {address}', '--listen needs' if not address else 'is not HOST', 1 if address else 2)
refused('-l 127.0.0.1:http', 'cannot listen on 127.0.0.1, port http')
refused(f'-l 192.0.2.1 -Y {passwords}', 'cannot listen on 192.0.2.1')
for address in ('0.0.0.0', '127.0.0.1,0.0.0.0:7000', *(['::'] if HAS_IPV6 else [])):
    refused(f'-l {address}', 'give --auth-file, or listen on 127.0.0.1')
refused('-l ' + ','.join(f'127.0.0.{i}' for i in range(1, 66)), 'more than 64 sockets to listen on')
server = begin('-l', '0.0.0.0', '--auth-file', passwords)
server.accepts(('127.0.0.1', PORT))
equal('any address is served with a password', 'STORED', Connection(('127.0.0.1', PORT)).set('k', 'alice secret'))
true('the log has a line about an address that others reach', server.said().startswith(
    'hbserve: other machines reach 0.0.0.0:11211, without encryption'), server.said())
server.stop('any address')

# Sockets that systemd passes, and the state that it is told
told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
told.bind(f'{DIRECTORY}/notify')
told.settimeout(60)


def activate(passed, *options, **more):
    """Start a server with a socket as descriptor 3."""
    # A program that is executed keeps the process: so LISTEN_PID is right.
    launcher = ['sh', '-c', f'export LISTEN_PID=$$ LISTEN_FDS=1 NOTIFY_SOCKET={DIRECTORY}/notify; exec "$@"', 'sh']
    return begin(*options, launcher=launcher, close_fds=False, preexec_fn=lambda: os.dup2(passed.fileno(), 3), **more)


with socket.create_server(('127.0.0.1', 7000)) as passed:
    server = activate(passed)
    equal('a socket that was passed is served', 'STORED', Connection(('127.0.0.1', 7000)).set('k', 'v'))
    equal('so is that of --unix-socket', 'VALUE k 0 1 v END', server.connect().ask('get k'))
    true('the service manager is told that it is ready', b'READY=1' in told.recv(1000))
    true('the socket that was passed does not block', fcntl.fcntl(passed, fcntl.F_GETFL) & os.O_NONBLOCK)
    server.stop('activation')
    true('the service manager is told that it stops', b'STOPPING=1' in told.recv(1000))
    passed.setblocking(True)
for kind, address, says in ((socket.SOCK_STREAM, '127.0.0.1', 'use ListenStream='),
                            (socket.SOCK_DGRAM, '127.0.0.1', 'use ListenStream='),
                            (socket.SOCK_STREAM, '0.0.0.0', 'give --auth-file')):
    with socket.socket(socket.AF_INET, kind) as passed:
        passed.bind((address, 7000))
        if address == '0.0.0.0':
            passed.listen()
        server = activate(passed, unix=False)
        true(f'a passed socket that may not be used is refused: {says}', server.wait() == 1 and says in server.said(),
             server.said())

# Passwords
server = begin('--protocol', 'redis', '-Y', passwords)
for user, password, good in (('alice', 'secret', True), ('bob', 'two words: and a colon', True), ('carol', 'x', True),
                             ('alice', 'secre', False), ('alice', 'secret ', False), ('alice', 'secreT', False),
                             ('alice', 'x', False), ('carol', 'secret', False), ('alice', '', False), ('', '', False),
                             ('dave', 'secret', False), ('alice', 'secret\0', False), ('alice', 'secret\r\n', False),
                             ('alice:secret', '', False)):
    client = server.connect()
    client.send(f'*3\r\n$4\r\nAUTH\r\n${len(user)}\r\n{user}\r\n${len(password)}\r\n{password}\r\n')
    equal(f'{user!r} with {password!r} is {"accepted" if good else "refused"}', '+OK' if good else '-WR',
          client.until(b'\r\n')[:3])
server.stop('passwords')
for content, says in ((b'', 'has no line USER:PASSWORD'), (b'\n\n', 'has no line USER:PASSWORD'),
                      (b'a:b\nalice\n', ':2: the line is not USER:PASSWORD'),
                      (b':secret\n', ':1: the line is not USER:PASSWORD'),
                      (b'alice:\n', ':1: the line has no password'),
                      (b'al ice:x\n', ':1: the line is not USER:PASSWORD'),
                      (b'alice:x\0y\n', ':1: the line has a zero byte'),
                      (b'\xef\xbb\xbfalice:x\n', ':1: the line begins with a byte order mark: save'),
                      (b'a:' + b'x' * 65535, ':1: the line has more than 65536 bytes')):
    refused(f'-s {PATH} -Y {write("wrong", content)}', says)
refused(f'-s {PATH} -Y {write("open", b"a:b", 0o604)}', 'chmod o=')
refused(f'-s {PATH} -Y {DIRECTORY}/none', 'No such file')
server = begin('-Y', write('long', b'a:' + b'x' * 65534, 0o640))
equal('a line of 65536 bytes is taken, in a file that a group may read', 'CLIENT_ERROR unauthenticated\r\n',
      (client := server.connect(), client.send('version\r\n'), client.until(b'\r\n'))[2])
server.stop('a long line')


# Certificates
def openssl(*words):
    subprocess.run(['openssl', *words], cwd=DIRECTORY, check=True, capture_output=True)


write('names', b'subjectAltName = DNS:localhost\nsubjectKeyIdentifier = hash\nauthorityKeyIdentifier = keyid\n')
# Python 3.13 and newer want the use of the key, and the key of the authority.
for name in ('ca', 'other'):
    openssl('req', '-new', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', f'/CN={name}/', '-keyout', f'{name}.key',
            '-out', f'{name}.pem', '-addext', 'keyUsage=critical,keyCertSign,cRLSign')
openssl('req', '-new', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=localhost/', '-keyout', 'cert.key', '-out',
        'request')
openssl('x509', '-req', '-in', 'request', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-out', 'cert.pem',
        '-extfile', 'names')
openssl('rsa', '-aes128', '-passout', 'pass:word', '-in', 'cert.key', '-out', 'locked.key')


def tls(cert='cert.pem', key='cert.key', *more):
    return ['-l', '127.0.0.1', '-Z', '--tls-cert', f'{DIRECTORY}/{cert}', '--tls-key', f'{DIRECTORY}/{key}', *more]


def authority(name):
    return ['--tls-ca', f'{DIRECTORY}/{name}']


def secure(cert=None, version=None):
    """A connection with TLS; the client has a certificate, and no newer version than this one."""
    context = ssl.create_default_context(cafile=f'{DIRECTORY}/ca.pem')
    context.set_ciphers('ALL:@SECLEVEL=0')
    context.minimum_version = ssl.TLSVersion.TLSv1
    if version:
        context.maximum_version = version
    if cert:
        context.load_cert_chain(f'{DIRECTORY}/{cert}.pem', f'{DIRECTORY}/{cert}.key')
    connection = Connection(('127.0.0.1', PORT))
    connection.socket = context.wrap_socket(connection.socket, server_hostname='localhost')
    return connection


def served(**settings):
    """Whether a client with TLS is served."""
    try:
        return secure(**settings).ask() == ''
    except OSError:
        return False


for words, says in ((tls(cert='none'), f'cannot use {DIRECTORY}/none as the certificate: No such file'),
                    (tls(cert='cert.key'), f'cannot use {DIRECTORY}/cert.key as the certificate'),
                    (tls(key='ca.key'), 'key values mismatch'),
                    (tls(key='locked.key'), f'cannot use {DIRECTORY}/locked.key as the key'),
                    (tls('cert.pem', 'cert.key', *authority('cert.key')), f'cannot use {DIRECTORY}/cert.key as certif'),
                    (['-s', PATH, *tls()[2:]], '--tls is for TCP: give --listen')):
    refused(' '.join(words), says)
true('the unix socket is gone again', not os.path.exists(PATH))
server = begin(*tls(), threads=1)
server.accepts(('127.0.0.1', PORT))
# A record has begun, of a handshake: no event comes before its rest.
silent = Connection(('127.0.0.1', PORT))
silent.send(b'\x16')
client = secure()
equal('a client with TLS stores, while another has sent one byte', 'STORED', client.set('k', 'v' * 100000))


def all_sleep():
    """Whether no thread of the server runs."""
    states = []
    for number in os.listdir(f'/proc/{server.process.pid}/task'):
        with open(f'/proc/{server.process.pid}/task/{number}/stat', encoding='ascii') as file:
            states.append(file.read().rpartition(')')[2].split()[0])
    return set(states) == {'S'}


true('the server sleeps while that client sends no more', at_last(all_sleep), 'it runs all the time')
silent.close()
equal('the unix socket is not encrypted', f'VALUE k 0 100000 {"v" * 100000} END', server.connect().ask('get k'))
# Parts of a reply: none, texts, and values longer than a record, for a client that reads slowly.
sizes = [20, 0, 2, 40000, 7, 16384, 1, 16383, 3]
for i, size in enumerate(sizes):
    client.set(f'k{i}', chr(ord('a') + i) * size)
reply = ''.join(f'VALUE k{i} 0 {size}\r\n{chr(ord("a") + i) * size}\r\nEND\r\n' for i, size in enumerate(sizes)) * 10
reply += ('VALUE k 0 100000\r\n' + 'v' * 100000 + '\r\n') * 200 + 'END\r\n'
before = server.memory()
client.send(''.join(f'get k{i}\r\n' for i in range(len(sizes))) * 10 + 'get' + ' k' * 200 + '\r\n')
true('the server, which has read all requests, sleeps until the client takes more', at_last(
    lambda: server.memory() > before + 1000 and all_sleep()))
equal('replies of many sizes over TLS arrive', True, client.exactly(len(reply)) == reply.encode())
gone = secure()
gone.send('get k\r\n' * 100)
gone.socket.close()
plain, bad, half = (Connection(('127.0.0.1', PORT)) for _ in range(3))
plain.send('get k\r\n')
true('a client without TLS is not served', 'VALUE' not in plain.all())
bad.send(b'\x16\x03\x01\x02\x00' + b'\x01' * 40)
bad.close()
equal('clients that go away harm no other', 'VA 100000', client.ask('mg k v')[:9])
client.send('quit\r\n')
equal('the end of a connection is that of TLS', b'', client.socket.recv(1))
equal('TLS 1.2 is served, and TLS 1.1 is not', (True, False),
      (served(version=ssl.TLSVersion.TLSv1_2), served(version=ssl.TLSVersion.TLSv1_1)))
server.stop('TLS')
for options, name, expected in ((['--tls-verify'], '--tls-verify', (False, True, False)),
                                ([], 'without --tls-verify', (True, True, False))):
    server = begin(*tls('cert.pem', 'cert.key', *authority('ca.pem'), *options), '-vv')
    server.accepts(('127.0.0.1', PORT))
    equal(f'{name}: a client without certificate, with one of the authority, and with another is served', expected,
          (served(), served(cert='cert'), served(cert='other')))
    server.stop(name)
finish()
