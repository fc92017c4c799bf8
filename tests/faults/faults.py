"""Each fault: where it happens, how, and when Redis accepts writes again."""

import contextlib
import os
import sys
import tempfile
import time
import unittest
import unittest.mock
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "server"))
from load import RULES, Load, Report  # noqa: E402
from partition import FAR, NEAR, Network  # noqa: E402
from places import Cluster, Sentinel, Single  # noqa: E402
from proxy import Proxy  # noqa: E402
from running import Server, rules_in, until  # noqa: E402


@contextlib.contextmanager
def servers_on(url, count=2, rules=RULES, deadline="50ms"):
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        path = rules_in(folder, rules)
        flags = ("--rules", str(path), "--store", url, "--store-deadline", deadline)
        yield [stack.enter_context(Server(*flags)) for _ in range(count)]


def open_files(servers):
    return sum(server.metric("process_open_fds") for server in servers)


def run(fault, url, strike, quiet=0.5):
    """`strike(load)` makes the fault happen, and returns when Redis accepts writes again, with the moment."""
    with servers_on(url) as servers, Load(servers) as load:
        if not until(lambda: len(load.calls) > 300 and not load.degraded_since(time.monotonic() - 0.3)):
            raise AssertionError("it does not begin well")
        load.calls.clear()
        if not until(lambda: len(load.calls) > 200):
            raise AssertionError("nobody is answered")
        files = open_files(servers)
        began = time.monotonic()
        accepted = strike(load)
        time.sleep(quiet)
        load.await_exact(quiet)
        report = Report(fault, load.calls, began, accepted)
        report.more_files = open_files(servers) - files
    return report


def when_accepting(place):
    if not until(place.accepts_writes):
        raise AssertionError("Redis does not accept writes again")
    return time.monotonic()


def killed_primary_of_sentinels():
    with Sentinel() as place:

        def strike(_):
            place.primary.kill()
            return when_accepting(place)

        return run("Sentinel: kill -9 of the primary", place.url, strike)


def killed_primary_of_cluster():
    with Cluster() as place:

        def strike(_):
            place.primaries[0].kill()
            return when_accepting(place)

        return run("Cluster: kill -9 of a primary", place.url, strike)


def stopped(seconds=2.0):
    with Single() as place:

        def strike(load):
            place.server.pause()
            began = time.monotonic()
            load.await_degraded(began)
            time.sleep(max(0.0, began + seconds - time.monotonic()))
            place.server.resume()
            return when_accepting(place)

        return run(f"SIGSTOP for {seconds:g} s", place.url, strike)


def stopped_for_long():
    return stopped(10.0)


def killed_and_started_again():
    with Single("--appendonly", "yes", "--appendfsync", "always") as place:

        def strike(_):
            place.server.kill()
            time.sleep(1)
            place.server.start()
            return when_accepting(place)

        return run("kill -9 and a restart, appendfsync always", place.url, strike)


def cut_connections():
    with Single() as place, Proxy(place.server.port) as proxy:

        def strike(_):
            for _ in range(10):
                proxy.cut_all()
                time.sleep(0.05)
            return time.monotonic()

        return run("connections cut in the middle, ten times", f"redis://127.0.0.1:{proxy.port}", strike)


def forgotten_scripts():
    with Single() as place:

        def strike(_):
            for _ in range(50):
                place.server.send("SCRIPT", "FLUSH")
                time.sleep(0.01)
            return time.monotonic()

        return run("SCRIPT FLUSH, fifty times", place.url, strike)


def no_memory():
    with Single() as place:

        def strike(load):
            began = time.monotonic()
            place.server.send("CONFIG", "SET", "maxmemory", "1")
            load.await_degraded(began)
            time.sleep(0.5)
            place.server.send("CONFIG", "SET", "maxmemory", "0")
            return when_accepting(place)

        return run("maxmemory with noeviction", place.url, strike)


def read_only():
    with Single() as place:

        def strike(load):
            began = time.monotonic()
            place.server.send("CONFIG", "SET", "replica-serve-stale-data", "yes")
            place.server.send("REPLICAOF", "127.0.0.1", "1")
            load.await_degraded(began)
            time.sleep(0.5)
            place.server.send("REPLICAOF", "NO", "ONE")
            return when_accepting(place)

        return run("READONLY after a switch", place.url, strike)


def wrong_password():
    with Single() as place, tempfile.TemporaryDirectory() as folder:
        secret = Path(folder) / "password"
        secret.write_text("right", encoding="utf-8")
        place.server.send("CONFIG", "SET", "requirepass", "right")
        url = f"{place.url}?password_file={secret}"

        def strike(load):
            began = time.monotonic()
            secret.write_text("wrong", encoding="utf-8")
            command = ["redis-cli", "-p", str(place.server.port), "-a", "right", "CLIENT", "KILL", "TYPE", "normal"]
            os.spawnlp(os.P_WAIT, "sh", "sh", "-c", " ".join(command) + " >/dev/null 2>&1")
            load.await_degraded(began)
            time.sleep(0.5)
            secret.write_text("right", encoding="utf-8")
            return time.monotonic()

        return run("a wrong password, later the right one", url, strike)


def slow_replies():
    with Single() as place, Proxy(place.server.port) as proxy:

        def strike(load):
            began = time.monotonic()
            proxy.delay = 0.1
            load.await_degraded(began)
            time.sleep(1)
            proxy.delay = 0.0
            return time.monotonic()

        return run("replies 200 ms late, through a proxy", f"redis://127.0.0.1:{proxy.port}", strike)


def expect_ok(node, *words):
    if (told := node.send(*words)) not in ("OK", "NOKEY"):
        raise AssertionError(f"{' '.join(map(str, words))}: {told}")


def move_slot(place, slot, source, target):
    from_node, to_node = place.primaries[source], place.primaries[target]
    expect_ok(to_node, "CLUSTER", "SETSLOT", slot, "IMPORTING", place.ids[source])
    expect_ok(from_node, "CLUSTER", "SETSLOT", slot, "MIGRATING", place.ids[target])
    while keys := from_node.send("CLUSTER", "GETKEYSINSLOT", slot, 10):
        expect_ok(from_node, "MIGRATE", "127.0.0.1", to_node.port, "", 0, 1000, "KEYS", *keys)
    # The new owner first: in between, both would send clients to each other.
    for node in (to_node, from_node, place.primaries[3 - source - target]):
        expect_ok(node, "CLUSTER", "SETSLOT", slot, "NODE", place.ids[target])


def moved_slots():
    """Every slot that has a key goes to another primary."""
    with Cluster() as place:

        def strike(_):
            end = time.monotonic() + 1.5
            moved = set()  # Each once: the nodes need some time to agree.
            while time.monotonic() < end or not moved:
                for source, node in enumerate(place.primaries):
                    slots = {node.send("CLUSTER", "KEYSLOT", key) for key in node.send("KEYS", "*")}
                    for slot in slots - moved:
                        move_slot(place, slot, source, (source + 1) % 3)
                        moved.add(slot)
            return time.monotonic()

        return run("Cluster: slots moved under load", place.url, strike)


def partitioned():
    """The old primary and a server on one side; its replica, the sentinels and another server on the other."""
    with Network() as network, contextlib.ExitStack() as stack:
        if not network.made:
            raise unittest.SkipTest("network namespaces are not permitted here")
        place = stack.enter_context(Sentinel(FAR, NEAR, network.on_far_side("/usr/bin/redis-server")))
        path = rules_in(network.folder.name, RULES)
        flags = ("--rules", str(path), "--store", place.url)
        near = stack.enter_context(Server(*flags))
        unix_socket = str(Path(network.folder.name) / "far.sock")
        program = {"SLUICE": network.on_far_side(os.path.abspath(os.environ["SLUICE"]))}
        with unittest.mock.patch.dict(os.environ, program):
            far = stack.enter_context(Server(*flags, unix_socket=unix_socket))
        far.unix_socket = unix_socket
        with Load([near, far]) as load:
            if not until(lambda: len(load.calls) > 300 and not load.degraded_since(time.monotonic() - 0.3)):
                raise AssertionError("it does not begin well")
            load.calls.clear()
            began = time.monotonic()
            network.cut()
            when_accepting(place)
            time.sleep(1)  # Both live, and both are asked.
            network.mend()
            mended = time.monotonic()
            if not until(lambda: "name=sluice" not in place.primary.send("CLIENT", "LIST")):
                raise AssertionError("a server still asks the old primary")
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
