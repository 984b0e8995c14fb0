# SPDX-License-Identifier: GPL-2.0-only
"""Used by clients.t: notes which scripts the clients of a server of Redis' protocol send."""
import hashlib
import re
import socket
import threading

SCRIPT = re.compile(rb'\r\n(?:(EVALSHA)|EVAL|SCRIPT\r\n\$4\r\nLOAD)\r\n\$(\d+)\r\n', re.IGNORECASE)


class Watch:
    """Stands between clients, which connect to PATH.watched, and the server at PATH."""

    def __init__(self, path):
        self.server = path
        self.path = f'{path}.watched'
        self.sent = []      # the bytes of each client
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(self.path)
        self.listening.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            client = self.listening.accept()[0]
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.server)
            self.sent.append(bytearray())
            threading.Thread(target=_pass_on, args=(client, server, self.sent[-1]), daemon=True).start()
            threading.Thread(target=_pass_on, args=(server, client, bytearray()), daemon=True).start()

    @property
    def seen(self):
        """The digests of all scripts that came by, as texts or as digests."""
        found = set()
        for sent in self.sent:
            for match in SCRIPT.finditer(sent):
                text = bytes(sent[match.end():match.end() + int(match[2])])
                found.add(text.decode().lower() if match[1] else hashlib.sha1(text).hexdigest())
        return found


def _pass_on(source, target, passed):
    """Pass on bytes until an end is closed, then close the other one."""
    try:
        while data := source.recv(1 << 16):
            passed += data
            target.sendall(data)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
