#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""counter.py SOCKET - a counter and a cached report, with pymemcache.

    hbserve -s /run/hashbelt/reports.sock -b reports
    python3 counter.py /run/hashbelt/reports.sock

Programs that use the device or hbctl have the same entries: "hbctl -b reports get visits".
"""

import json
import sys

from pymemcache.client.base import Client


def report(client):
    """The report: from the belt, or made and kept for 60 seconds."""
    found = client.get('report')
    if found:
        return json.loads(found), 'cached'
    made = {'visits': int(client.get('visits'))}
    client.set('report', json.dumps(made), expire=60)
    return made, 'made'


def main():
    client = Client(sys.argv[1], default_noreply=False)
    client.add('visits', '0')
    visits = client.incr('visits', 1)
    print(f'visit {visits}')
    found, how = report(client)
    print(f'report ({how}): {found["visits"]} visits')


if __name__ == '__main__':
    main()
