"""Each fault: where it happens, how, and when Redis accepts writes again."""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
from pathlib import Path

from load import RULES, Load, Report  # noqa: E402
from partition import FAR, NEAR, Network  # noqa: E402

from support.environment import wait_until
from support.files import write_rules
from support.redis_servers import Cluster, RedisServer, Sentinel
from support.sluice import Server
from support.tcp_proxy import TcpProxy

@contextlib.contextmanager
def servers_on(url, count=2, rules=RULES, deadline="50ms"):
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        flags = ("--rules", write_rules(folder, rules))
        yield [stack.enter_context(Server(*flags, store=url, store_deadline=deadline)) for _ in range(count)]


def open_files(servers):
    return sum(server.metric("process_open_fds") for server in servers)


def run(fault, url, strike, quiet=0.5):
    """`strike(load)` makes the fault happen, and returns when Redis accepts writes again, with the moment."""
    with servers_on(url) as servers, Load(servers) as load:
        load.await_start()
        wait_until(lambda: len(load.calls) > 200, "calls are answered")
        files = open_files(servers)
        began = time.monotonic()
        accepted = strike(load)
        time.sleep(quiet)
        load.await_exact(quiet)
        report = Report(fault, load.calls, began, accepted)
        report.more_files = open_files(servers) - files
    return report


def when_accepting(redis):
    wait_until(redis.accepts_writes, "Redis accepts writes again")
    return time.monotonic()


def killed_primary_of_sentinels():
    with Sentinel() as redis:

        def strike(_):
            redis.primary.kill()
            return when_accepting(redis)

        return run("Sentinel: kill -9 of the primary", redis.url, strike)


def killed_primary_of_cluster():
    with Cluster() as redis:

        def strike(_):
            redis.primaries[0].kill()
            return when_accepting(redis)

        return run("Cluster: kill -9 of a primary", redis.url, strike)


def stopped(seconds=2.0):
    with RedisServer() as redis:

        def strike(load):
            redis.pause()
            began = time.monotonic()
            load.await_degraded(began)
            time.sleep(max(0.0, began + seconds - time.monotonic()))
            redis.resume()
            return when_accepting(redis)

        return run(f"SIGSTOP for {seconds:g} s", redis.url, strike)


def stopped_for_long():
    return stopped(10.0)


def killed_and_started_again():
    with RedisServer("--appendonly", "yes", "--appendfsync", "always") as redis:

        def strike(_):
            redis.kill()
            time.sleep(1)
            redis.start()
            return when_accepting(redis)

        return run("kill -9 and a restart, appendfsync always", redis.url, strike)


def cut_connections():
    with RedisServer() as redis, TcpProxy(redis.port) as proxy:

        def strike(_):
            for _ in range(10):
                proxy.cut_all()
                time.sleep(0.05)
            return time.monotonic()

        return run("connections cut in the middle, ten times", f"redis://127.0.0.1:{proxy.port}", strike)


def forgotten_scripts():
    with RedisServer() as redis:

        def strike(_):
            for _ in range(50):
                redis.send("SCRIPT", "FLUSH")
                time.sleep(0.01)
            return time.monotonic()

        return run("SCRIPT FLUSH, fifty times", redis.url, strike)


def no_memory():
    with RedisServer() as redis:

        def strike(load):
            began = time.monotonic()
            redis.send("CONFIG", "SET", "maxmemory", "1")
            load.await_degraded(began)
            time.sleep(0.5)
            redis.send("CONFIG", "SET", "maxmemory", "0")
            return when_accepting(redis)

        return run("maxmemory with noeviction", redis.url, strike)


def read_only():
    with RedisServer() as redis:

        def strike(load):
            began = time.monotonic()
            redis.send("CONFIG", "SET", "replica-serve-stale-data", "yes")
            redis.send("REPLICAOF", "127.0.0.1", "1")
            load.await_degraded(began)
            time.sleep(0.5)
            redis.send("REPLICAOF", "NO", "ONE")
            return when_accepting(redis)

        return run("READONLY after a switch", redis.url, strike)


def wrong_password():
    with RedisServer() as redis, tempfile.TemporaryDirectory() as folder:
        secret = Path(folder) / "password"
        secret.write_text("right", encoding="utf-8")
        redis.send("CONFIG", "SET", "requirepass", "right")
        url = f"{redis.url}?password_file={secret}"

        def strike(load):
            began = time.monotonic()
            secret.write_text("wrong", encoding="utf-8")
            command = ["redis-cli", "-p", str(redis.port), "-a", "right", "CLIENT", "KILL", "TYPE", "normal"]
            subprocess.run(command, capture_output=True, check=False)
            load.await_degraded(began)
            time.sleep(0.5)
            secret.write_text("right", encoding="utf-8")
            return time.monotonic()

        return run("a wrong password, later the right one", url, strike)


def slow_replies():
    with RedisServer() as redis, TcpProxy(redis.port) as proxy:

        def strike(load):
            began = time.monotonic()
            proxy.delay = 0.1
            load.await_degraded(began)
            time.sleep(1)
            proxy.delay = 0.0
            return time.monotonic()

        return run("replies 200 ms late, through a proxy", f"redis://127.0.0.1:{proxy.port}", strike)


def expect_ok(node, *words):
    if (reply := node.send(*words)) not in ("OK", "NOKEY"):
        raise AssertionError(f"{' '.join(map(str, words))}: {reply}")


def move_slot(redis, slot, source, target):
    from_node, to_node = redis.primaries[source], redis.primaries[target]
    expect_ok(to_node, "CLUSTER", "SETSLOT", slot, "IMPORTING", redis.ids[source])
    expect_ok(from_node, "CLUSTER", "SETSLOT", slot, "MIGRATING", redis.ids[target])
    while keys := from_node.send("CLUSTER", "GETKEYSINSLOT", slot, 10):
        expect_ok(from_node, "MIGRATE", "127.0.0.1", to_node.port, "", 0, 1000, "KEYS", *keys)
    # The new owner first: in between, both would send clients to each other.
    for node in (to_node, from_node, redis.primaries[3 - source - target]):
        expect_ok(node, "CLUSTER", "SETSLOT", slot, "NODE", redis.ids[target])


def moved_slots():
    """Every slot that has a key goes to another primary."""
    with Cluster() as redis:

        def strike(_):
            end = time.monotonic() + 1.5
            moved = set()  # Each once: the nodes need some time to agree.
            while time.monotonic() < end or not moved:
                for source, node in enumerate(redis.primaries):
                    slots = {node.send("CLUSTER", "KEYSLOT", key) for key in node.send("KEYS", "*")}
                    for slot in slots - moved:
                        move_slot(redis, slot, source, (source + 1) % 3)
                        moved.add(slot)
            return time.monotonic()

        return run("Cluster: slots moved under load", redis.url, strike)


def partitioned():
    """The old primary and a server on one side; its replica, the sentinels and another server on the other."""
    with Network() as network, contextlib.ExitStack() as stack:
        if not network.made:
            raise unittest.SkipTest("network namespaces are not permitted here")
        redis = stack.enter_context(Sentinel(FAR, NEAR, network.on_far_side("/usr/bin/redis-server")))
        flags = ("--rules", write_rules(network.folder.name, RULES), "--store", redis.url)
        near = stack.enter_context(Server(*flags))
        unix_socket = str(Path(network.folder.name) / "far.sock")
        program = {"SLUICE": network.on_far_side(os.path.abspath(os.environ["SLUICE"]))}
        with unittest.mock.patch.dict(os.environ, program):
            far = stack.enter_context(Server(*flags, unix_socket=unix_socket))
        with Load([near, far]) as load:
            load.await_start()
            began = time.monotonic()
            network.cut()
            when_accepting(redis)
            time.sleep(1)  # Both live, and both are asked.
            network.mend()
            mended = time.monotonic()
            wait_until(lambda: "name=sluice" not in redis.primary.send("CLIENT", "LIST"), "no server uses the old primary")
            exact = time.monotonic()
            load.await_exact()
        report = Report("Sentinel: a partition, both sides live", load.calls, began, mended)
        report.to_exact = max(report.to_exact, exact - mended)
        apart = [call for call in load.calls if began <= call.began <= exact]
        report.recent = sum(call.status == 200 and not call.degraded for call in apart)
        return report


FAULTS = (
    killed_primary_of_sentinels,
    killed_primary_of_cluster,
    stopped,
    killed_and_started_again,
    cut_connections,
    forgotten_scripts,
    no_memory,
    read_only,
    wrong_password,
    slow_replies,
    moved_slots,
    partitioned,
)
LOSES_WHAT_WAS_NOT_REPLICATED = (killed_primary_of_sentinels, killed_primary_of_cluster, partitioned)


def main():
    """Prints the table. Arguments name faults; without any: all."""
    faults = {fault.__name__: fault for fault in (*FAULTS, stopped_for_long)}
    if unknown := [name for name in sys.argv[1:] if name not in faults]:
        sys.exit(f"no such fault: {', '.join(unknown)}; there is: {' '.join(faults)}")
    wanted = [faults[name] for name in sys.argv[1:]] or list(faults.values())
    print(Report.HEAD)
    for fault in wanted:
        try:
            print(fault(), flush=True)
        except unittest.SkipTest as reason:
            print(f"{fault.__name__}: {reason}", flush=True)


if __name__ == "__main__":
    main()
