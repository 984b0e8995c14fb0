#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# nats-acked-duplicate.sh - whether a work queue of NATS still refuses a message that was done before a restart.
#
# A stream refuses a message that has the Nats-Msg-Id of another one for its duplicate_window, here an hour, so that a
# publisher may repeat a job of which it has seen no acknowledgement. A work queue removes a message that a worker has
# acknowledged, and goes on refusing its id, as it should. But when the server starts, it makes its list of ids from
# the messages that are in the stream. So after a restart within the window it takes a repeated job that is done, and
# refuses one that still waits. A restart is when publishers repeat. nats-server 2.15.1, with nats 2.29.3 for Node.js.
#
# Needs root, node, npm, mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
root=$work/root
mmdebstrap --quiet --variant=extract --include=nats-server=2.15.1-1 --aptopt='Acquire::Check-Valid-Until "false"' \
	--aptopt='APT::Install-Recommends "false"' sid "$root" "$mirror" 2>"$work/log" || {
	cat "$work/log"
	exit 1
}
npm install --prefix "$work" --no-audit --no-fund --ignore-scripts nats@2.29.3 >"$work/log" 2>&1 || {
	cat "$work/log"
	exit 1
}
cat >"$work/publish.mjs" <<'END'
import { AckPolicy, connect, nanos, RetentionPolicy } from 'nats';

const [servers, when] = process.argv.slice(2);
const connection = await connect({ servers });
const stream = connection.jetstream();
const publish = async when => {
  for (const msgID of ['job that is done', 'job that waits']) {
    const { duplicate } = await stream.publish('job', '', { msgID });
    console.log(`${when}, ${msgID}: ${duplicate ? 'refused' : 'taken'}`);
  }
};
if (when === 'at first') {
  const manager = await connection.jetstreamManager();
  await manager.streams.add({
    name: 'jobs', subjects: ['job'], retention: RetentionPolicy.Workqueue, duplicate_window: nanos(3600000),
  });
  await manager.consumers.add('jobs', { durable_name: 'worker', ack_policy: AckPolicy.Explicit });
  await publish(when);
  const message = await (await stream.consumers.get('jobs', 'worker')).next();
  await message.ackAck();
  await publish('again');
} else {
  await publish(when);
}
await connection.close();
END
loader=$(find "$root" -name 'ld-linux-x86-64.so.2' ! -type l | head -n 1)

# serve - start the server, and wait for the file in which it writes its port.
serve() {
	"$loader" --library-path "$root/usr/lib/x86_64-linux-gnu" "$root/usr/sbin/nats-server" -js -sd "$work/store" \
		-a 127.0.0.1 -p -1 --ports_file_dir "$work/ports" >>"$work/log" 2>&1 &
	server=$!
	while ! url=$(grep -o 'nats://[^"]*' "$work"/ports/*.ports 2>/dev/null); do
		kill -0 $server
		sleep 0.1
	done
}

# stop - end the server as systemd does.
stop() {
	kill $server
	wait $server || true
	server=
	rm -f "$work"/ports/*
}

mkdir "$work/ports"
"$loader" --library-path "$root/usr/lib/x86_64-linux-gnu" "$root/usr/sbin/nats-server" --version
serve
timeout 60 node "$work/publish.mjs" "$url" 'at first' >"$work/found"
stop
serve
timeout 60 node "$work/publish.mjs" "$url" 'after a restart' >>"$work/found"
stop
cat "$work/found"
cat >"$work/expected" <<'END'
at first, job that is done: taken
at first, job that waits: taken
again, job that is done: refused
again, job that waits: refused
after a restart, job that is done: taken
after a restart, job that waits: refused
END
diff "$work/expected" "$work/found"
