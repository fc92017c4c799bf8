"""How long a rule change takes until every node decides by it.

Starts a Redis of its own and many servers with one event loop each on it, and commits changes of a limit through one of
them after the other. The time is from the commit's answer to the first decision by the new limit, for each node; one
connection to each node checks every few milliseconds. Rows:

- `notified`: as usual, with Pub/Sub;
- `polled`: Redis forbids Pub/Sub, so that nodes read the number of the version each second only;
- `cluster`: as usual, on a Redis Cluster;
- `entries`: changes of a live entry instead of rules: the time to the first decision by its limit;
- `entries loaded`: the same while every node answers calls over Redis, 200 a second each;
- `entries failover`: behind sentinels and under the same load, the primary is killed: the time from the first change that is
  accepted after it. Then all nodes are killed (kill -9) and started without their copies, and must have every entry of which
  `replicated: true` was said;
- `node stopped`: one node is stopped (SIGSTOP) during the commit, and continued: the time from then on;
- `Redis killed`: Redis is killed for ten seconds as soon as one node has a new version, and comes back empty: the time until
  all nodes decide by that version, which a node restores.

    ./dev bench rules-propagation
    ./dev bench rules-propagation --nodes 20 --commits 50 --rows notified,polled
"""

import argparse
import contextlib
import json
import multiprocessing
import re
import signal
import socket
import tempfile
import time

from support.files import write_rules
from support.redis_servers import Cluster, RedisServer, Sentinel
from support.resp import call as redis_call
from support.sluice import Server

TIMEOUT = 60.0
POLL_INTERVAL = 0.004
CALLS_PER_SECOND = 200  # On each node.
CHECK = b"GET /api/v1/rate-limit/check?api_key=probe HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def rules(limit):
    return f"rules:\n  - {{id: probe, per: api_key, limit: {limit}/h}}\n"


class Node:
    """A server, and the connection that checks what it decides by."""

    def __init__(self, server):
        self.server = server
        self.socket = server.connect(server.http)

    def limit(self):
        """The limit that a check is decided by now."""
        self.socket.sendall(CHECK)
        answer = b""
        while not (end := re.search(rb"\r\n\r\n", answer)) or len(answer) < end.end() + length(answer):
            piece = self.socket.recv(65536)
            if not piece:
                raise ConnectionError("closed")
            answer += piece
        return json.loads(answer[end.end() :])["limit"]


def length(answer):
    return int(re.search(rb"(?i)content-length: (\d+)", answer)[1])


def keep_calling(ports, calls_per_second):
    """Checks on all ports, in turn, until the process is ended. Keys are many; answers are read, whatever they say."""
    connections = [socket.create_connection(("127.0.0.1", port)) for port in ports]
    number, start = 0, time.monotonic()
    while True:
        for connection in connections:
            number += 1
            connection.sendall(CHECK.replace(b"=probe", b"=load%d" % (number % 10_000)))
        for connection in connections:
            connection.recv(65536)
        time.sleep(max(0.0, start + number / len(ports) / calls_per_second - time.monotonic()))


class Fleet:
    """Servers with one event loop each that have their rules from one Redis."""

    def __init__(self, stack, nodes, url, deadline="30s"):
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        seed = write_rules(folder, rules(1000))
        flags = ("--rules-source", "store", "--rules", seed)
        self.nodes = []
        for i in range(nodes):
            server = Server(*flags, "--state-dir", f"{folder}/{i}", store=url, store_deadline=deadline, threads=1)
            self.nodes.append(Node(stack.enter_context(server)))
        self.next_limit = 1000

    def load(self, stack):
        """Calls all nodes until the stack ends."""
        ports = [node.server.http for node in self.nodes]
        process = multiprocessing.Process(target=keep_calling, args=(ports, CALLS_PER_SECOND), daemon=True)
        process.start()
        stack.callback(process.kill)
        return process

    def commit(self, through):
        """Returns the new limit."""
        self.next_limit += 1
        server = through.server
        tag = server.request("HEAD", "/admin/v1/rules").headers["ETag"]
        headers = {"If-Match": tag, "Content-Type": "application/yaml"}
        answer = server.request("PUT", "/admin/v1/rules", rules(self.next_limit), headers)
        if answer.status != 200:
            raise AssertionError(f"{answer.status}: {answer.text}")
        return self.next_limit

    def put_entry(self, through):
        """Changes the limit of the probe by a live entry. Returns the new limit."""
        self.next_limit += 1
        entry = {"match": {"api_key": "probe"}, "effect": {"limit": self.next_limit}}
        answer = through.server.request("PUT", "/admin/v1/entries/probe", entry)
        if answer.status != 200:
            raise AssertionError(f"{answer.status}: {answer.text}")
        return self.next_limit

    def times_until(self, limit, nodes):
        """The seconds until each of the nodes decides by the limit."""
        start = time.monotonic()
        waiting, times = list(nodes), []
        while waiting:
            for node in list(waiting):
                if node.limit() == limit:
                    times.append(time.monotonic() - start)
                    waiting.remove(node)
            if time.monotonic() - start > TIMEOUT:
                raise AssertionError(f"{len(waiting)} nodes have not applied the change after {TIMEOUT:g} s")
            time.sleep(POLL_INTERVAL)
        return times

    def measure(self, commits, change=commit):
        times = []
        for i in range(commits):
            limit = change(self, self.nodes[i % len(self.nodes)])
            times += self.times_until(limit, self.nodes)
        return times


def measure_notified(stack, wanted):
    redis = stack.enter_context(RedisServer())
    return Fleet(stack, wanted.nodes, redis.url).measure(wanted.commits)


def measure_polled(stack, wanted):
    redis = stack.enter_context(RedisServer())
    redis_call(redis.port, "ACL", "SETUSER", "default", "resetchannels")
    return Fleet(stack, wanted.nodes, redis.url).measure(max(wanted.commits // 5, 1))


def measure_cluster(stack, wanted):
    cluster = stack.enter_context(Cluster())
    return Fleet(stack, wanted.nodes, cluster.url).measure(wanted.commits)


def measure_entries(stack, wanted):
    redis = stack.enter_context(RedisServer())
    return Fleet(stack, wanted.nodes, redis.url).measure(wanted.commits, Fleet.put_entry)


def measure_entries_loaded(stack, wanted):
    redis = stack.enter_context(RedisServer())
    fleet = Fleet(stack, wanted.nodes, redis.url)
    fleet.load(stack)
    return fleet.measure(wanted.commits, Fleet.put_entry)


def measure_entries_failover(stack, wanted):
    sentinel = stack.enter_context(Sentinel())
    fleet = Fleet(stack, wanted.nodes, sentinel.url, deadline="1s")
    load = fleet.load(stack)
    promised = []

    def put(entry_id, server):
        """Returns whether it is accepted."""
        entry = {"match": {"api_key": entry_id}, "effect": "block", "expires_at": None}
        answer = server.request("PUT", f"/admin/v1/entries/{entry_id}", entry)
        if answer.status == 200 and answer.json()["replicated"]:
            promised.append(entry_id)
        return answer.status == 200

    for i in range(wanted.commits):
        put(f"e{i}", fleet.nodes[i % len(fleet.nodes)].server)
    sentinel.primary.kill()
    start = time.monotonic()
    while not put("after", fleet.nodes[0].server):
        if time.monotonic() - start > TIMEOUT:
            raise AssertionError("no change was accepted after the failover")
        time.sleep(POLL_INTERVAL)
    times = fleet.times_until(fleet.put_entry(fleet.nodes[0]), fleet.nodes)
    load.kill()
    for node in fleet.nodes:
        node.server.kill()
    for node in Fleet(stack, wanted.nodes, sentinel.url).nodes:
        start = time.monotonic()
        while lost := [one for one in promised if node.server.request("GET", f"/admin/v1/entries/{one}").status != 200]:
            if time.monotonic() - start > TIMEOUT:
                raise AssertionError(f"a node has lost {lost}")
            time.sleep(POLL_INTERVAL)
    if not promised:
        raise AssertionError("no entry was replicated")
    return times


def measure_stopped(stack, wanted):
    redis = stack.enter_context(RedisServer())
    fleet = Fleet(stack, wanted.nodes, redis.url)
    times = []
    for _ in range(max(wanted.commits // 10, 1)):
        stopped = fleet.nodes[-1].server.process
        stopped.send_signal(signal.SIGSTOP)
        limit = fleet.commit(fleet.nodes[0])
        fleet.times_until(limit, fleet.nodes[:-1])
        stopped.send_signal(signal.SIGCONT)
        times += fleet.times_until(limit, fleet.nodes[-1:])
    return times


def measure_killed(stack, wanted):
    redis = stack.enter_context(RedisServer())
    fleet = Fleet(stack, wanted.nodes, redis.url)
    limit = fleet.commit(fleet.nodes[0])
    fleet.times_until(limit, fleet.nodes[:1])
    redis.kill()
    time.sleep(10)
    redis.start()
    return fleet.times_until(limit, fleet.nodes)


ROWS = {
    "notified": measure_notified,
    "polled": measure_polled,
    "cluster": measure_cluster,
    "entries": measure_entries,
    "entries loaded": measure_entries_loaded,
    "entries failover": measure_entries_failover,
    "node stopped": measure_stopped,
    "Redis killed": measure_killed,
}


def percentile(times, share):
    return sorted(times)[min(int(len(times) * share), len(times) - 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=20)
    parser.add_argument("--commits", type=int, default=50)
    parser.add_argument("--rows", default=",".join(ROWS), help="of: " + ", ".join(ROWS))
    wanted = parser.parse_args()
    print(f"{wanted.nodes} nodes; milliseconds from the commit's answer to the first decision by the new rules")
    print(f"{'':18}{'samples':>8}{'p50':>8}{'p99':>8}{'max':>8}")
    for name in wanted.rows.split(","):
        with contextlib.ExitStack() as stack:
            times = ROWS[name.strip()](stack, wanted)
        figures = (percentile(times, 0.5), percentile(times, 0.99), max(times))
        print(f"{name:18}{len(times):>8}" + "".join(f"{1000 * figure:>8.0f}" for figure in figures), flush=True)


if __name__ == "__main__":
    main()
