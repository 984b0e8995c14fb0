#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""others.t - the examples for Node.js, Go, PHP and nginx with hbserve. Clients: newest/clients."""

import http.client
import http.server
import os
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))

from serve import Server, at_last, entry, equal, finish, hbctl, make_belt, true

ours = os.path.dirname(os.path.abspath(__file__))
examples = '/payload/examples'
subprocess.run(['ifconfig', 'lo', '127.0.0.1', 'up'], check=True)


def run(*words, **more):
    """Run a program. Returns its status and what it prints."""
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=280, **more)
    return done.returncode, done.stdout.decode('latin1')


# Node.js and Go
modules = {**os.environ, 'NODE_PATH': '/usr/share/npm/node_modules'}
on = make_belt('main', '--ttl', '5m')
server = Server('-l', '127.0.0.1', '-p', 11211)
server.accepts(('127.0.0.1', 11211))

# examples/serve/counter.js and counter.go
counter = ['node', f'{examples}/counter.js', '127.0.0.1:11211']
on('clear')
equal('counter.js: the first visit makes the report', (0, 'visit 1\nreport (made): 1 visits\n'),
      run(*counter, env=modules))
equal('counter.go: counts on, and gets the report that is there', (0, 'visit 2\nreport (cached): 1 visits\n'),
      run('/payload/gocounter', server.path))
on('advance', '60s')
equal('counter.go: makes the report after 60 s', (0, 'visit 3\nreport (made): 3 visits\n'),
      run('/payload/gocounter', server.path))
equal('counter.js: gets the report that is there', (0, 'visit 4\nreport (cached): 3 visits\n'),
      run(*counter, env=modules))

server.stop('clients')

# examples/serve/session.php
sessions = make_belt('sessions')
server = Server(belt='sessions')


def visit(*words):
    return run('php', f'{examples}/session.php', server.path, *words)


equal('session.php: a first visit', (0, 'Ann: visit 1\n'), visit('visitor1', 'Ann'))
equal('session.php: another process has the same session', (0, 'Ann: visit 2\n'), visit('visitor1'))
equal('session.php: another visitor has a session of its own', (0, 'a stranger: visit 1\n'),
      visit('visitor2'))
key = 'memc.sess.key.visitor1'
equal('session.php: the session is an entry that lasts 24 minutes', 1440000, entry(sessions,
                                                            key).get('ttl_ms'))
sessions('advance', '1439999ms')
equal('session.php: it is there 1 ms before its end', (0, 'Ann: visit 3\n'), visit('visitor1'))
equal('session.php: each visit begins its 24 minutes anew', 1440000, entry(sessions, key).get('ttl_ms'))
sessions('advance', '24m')
equal('session.php: it is over after 24 minutes without a visit', (0, 'a stranger: visit 1\n'),
      visit('visitor1'))
pair = [subprocess.Popen(['php', f'{examples}/session.php', server.path, 'both'],
                         stdout=subprocess.PIPE) for _ in range(4)]
equal('session.php: four processes at once count each visit',
      [f'a stranger: visit {i + 1}\n'.encode() for i in range(4)],
      sorted(one.communicate()[0] for one in pair))
server.stop('sessions')


# examples/serve/pages.conf and pages.sh
class Program(http.server.BaseHTTPRequestHandler):
    """The slow program that makes pages which are not in the belt."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f'slow {self.path}'.encode())

    def log_message(self, *_):
        pass


def fetch(page, method='GET', body=None):
    connection = http.client.HTTPConnection('127.0.0.1', 8080, timeout=60)
    connection.request(method, page, body)
    return connection.getresponse().read().decode()


def hits():
    return int(pages('stat', '--json').split('"hits":')[1].split(',')[0])


pages = make_belt('pages')
os.makedirs('/run/hashbelt', exist_ok=True)
os.makedirs('/var/log/nginx', exist_ok=True)
os.makedirs('/var/lib/nginx', exist_ok=True)
server = Server('-s', '/run/hashbelt/pages.sock', '-a', '0666', belt='pages', unix=False)
true('hbserve serves the belt pages', server.accepts('/run/hashbelt/pages.sock'))
program = http.server.ThreadingHTTPServer(('127.0.0.1', 8081), Program)
threading.Thread(target=program.serve_forever, daemon=True).start()
nginx = subprocess.Popen(['nginx', '-c', f'{examples}/pages.conf'], stderr=open('/tmp/nginx.log', 'wb'))


def accepts():
    try:
        return fetch('/')
    except OSError:
        return None


true('nginx starts', at_last(accepts), open('/tmp/nginx.log', encoding='latin1').read())
equal('pages.conf: a page that is not in the belt comes from the program', 'slow /news', fetch('/news'))
print('# ' + open('/tmp/nginx.log', encoding='latin1').read().replace('\n', '\n# '))
subprocess.run([f'{examples}/pages.sh', '/news', '30s'], check=True)
before = hits()
equal('pages.sh: nginx serves the page from the belt', '<h1>/news</h1>\nmade by root\n', fetch('/news'))
equal('pages.sh: the belt counts the hit', before + 1, hits())
pages('advance', '29999ms')
equal('pages.sh: the page is served until its end', '<h1>/news</h1>\nmade by root\n', fetch('/news'))
pages('advance', '1ms')
equal('pages.sh: after its time-to-live the page comes from the program', 'slow /news', fetch('/news'))
fetch('/keep/stored', 'PUT', 'a stored page')
equal('pages.conf: hbctl gets a page that nginx has stored', 'a stored page', pages('get', '/stored'))
equal('pages.conf: it lasts 5 minutes', 300000, entry(pages, '/stored').get('ttl_ms'))
equal('pages.conf: nginx serves it', 'a stored page', fetch('/stored'))
large = 'x' * 300000
pages('put', '/large', stdin=large.encode())
equal('pages.conf: a page of 300,000 bytes', large, fetch('/large'))
hbctl('destroy', 'pages')
equal('pages.conf: without the belt pages come from the program', 'slow /large', fetch('/large'))
nginx.terminate()
nginx.wait()
server.stop('pages')
finish()
