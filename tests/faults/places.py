"""Real Redis servers in the three ways they belong together, quick to lose patience. They end with the test."""

import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/server"))
from running import PATIENCE, until  # noqa: E402


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def read_reply(stream):
    line = stream.readline()
    if not line:
        raise ConnectionError("closed")
    kind, rest = line[:1], line[1:-2].decode()
    if kind == b"$":
        return None if rest == "-1" else stream.read(int(rest) + 2)[:-2].decode()
    if kind == b"*":
        return [read_reply(stream) for _ in range(int(rest))]
    return "-" + rest if kind == b"-" else rest


def connect(place, timeout):
    """A port of this machine, or the path of a Unix socket."""
    if isinstance(place, int):
        return socket.create_connection(("127.0.0.1", place), timeout)
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(timeout)
    try:
        client.connect(place)
    except OSError:
        client.close()
        raise
    return client


def ask(place, *words, timeout=1.0):
    """One command over a connection of its own; errors begin with '-'."""
    with connect(place, timeout) as client, client.makefile("rb") as stream:
        parts = [f"*{len(words)}\r\n", *(f"${len(str(word))}\r\n{word}\r\n" for word in words)]
        client.sendall("".join(parts).encode())
        return read_reply(stream)


def accepts_writes(port, key="faults-probe"):
    try:
        return ask(port, "SET", key, "1", timeout=0.3) == "OK"
    except OSError:
        return False


class Process:
    """A redis-server or a sentinel."""

    def __init__(self, *arguments, sentinel=(), program="redis-server"):
        self.port = free_port()
        self.folder = tempfile.TemporaryDirectory()
        self.arguments = arguments
        self.process = None
        if sentinel:
            config = Path(self.folder.name) / "sentinel.conf"
            config.write_text("\n".join([f"port {self.port}", *sentinel]) + "\n", encoding="utf-8")
            self.command = [program, str(config), "--sentinel"]
            self.place = self.port
        else:
            # The Unix socket leads to it from any network.
            self.place = str(Path(self.folder.name) / "redis.sock")
            self.command = [program, "--port", str(self.port), "--save", "", "--repl-diskless-sync-delay", "0"]
            self.command += ["--unixsocket", self.place, "--protected-mode", "no"]
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [*self.command, *self.arguments], cwd=self.folder.name, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        if not until(self.answers):
            raise AssertionError("redis-server does not answer")

    def answers(self):
        try:
            return ask(self.place, "PING") is not None
        except OSError:
            return False

    def send(self, *words):
        return ask(self.place, *words)

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE)

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def close(self):
        self.kill()
        self.folder.cleanup()


class Place:
    def __init__(self):
        self.processes = []

    def add(self, *arguments, **more):
        self.processes.append(Process(*arguments, **more))
        return self.processes[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.close()


class Single(Place):
    """One server."""

    def __init__(self, *arguments):
        super().__init__()
        self.server = self.add(*arguments)
        self.url = f"redis://127.0.0.1:{self.server.port}"

    def accepts_writes(self):
        return accepts_writes(self.server.port)


class Sentinel(Place):
    """A primary, a replica and three sentinels. The primary may be elsewhere."""

    def __init__(self, primary_address="127.0.0.1", others_address="127.0.0.1", primary_program="redis-server"):
        super().__init__()
        self.primary = self.add(program=primary_program)
        self.replica = self.add("--replicaof", f"{primary_address} {self.primary.port}")
        config = (
            "protected-mode no",
            f"sentinel monitor mymaster {primary_address} {self.primary.port} 2",
            "sentinel down-after-milliseconds mymaster 500",
            "sentinel failover-timeout mymaster 2000",
        )
        self.sentinels = [self.add(sentinel=config) for _ in range(3)]
        if not until(self.is_healthy):
            raise AssertionError("the sentinels do not find each other")
        seeds = ",".join(f"{others_address}:{sentinel.port}" for sentinel in self.sentinels)
        self.url = f"redis-sentinel://mymaster@{seeds}"

    def is_healthy(self):
        if "master_link_status:up" not in self.replica.send("INFO", "replication"):
            return False
        for sentinel in self.sentinels:
            known = dict(zip(*[iter(sentinel.send("SENTINEL", "MASTER", "mymaster"))] * 2))
            if known["num-slaves"] != "1" or known["num-other-sentinels"] != "2":
                return False
        return True

    def accepts_writes(self):
        """The replica, once it has taken over."""
        return accepts_writes(self.replica.port)


class Cluster(Place):
    """Three primaries, and a replica of each."""

    SLOTS = ((0, 5460), (5461, 10922), (10923, 16383))

    def __init__(self):
        super().__init__()
        arguments = ("--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no")
        for _ in range(6):
            self.add(*arguments, "--cluster-port", str(free_port()), "--cluster-replica-validity-factor", "0")
        self.primaries, self.replicas = self.processes[:3], self.processes[3:]
        ids = [node.send("CLUSTER", "MYID") for node in self.processes]
        for node in self.processes:
            bus = node.arguments[node.arguments.index("--cluster-port") + 1]
            self.processes[0].send("CLUSTER", "MEET", "127.0.0.1", node.port, bus)
        for node, (first, last) in zip(self.primaries, self.SLOTS):
            node.send("CLUSTER", "ADDSLOTSRANGE", first, last)
        for node, primary in zip(self.replicas, ids):
            if not until(lambda node=node, primary=primary: node.send("CLUSTER", "REPLICATE", primary) == "OK"):
                raise AssertionError("a node does not become a replica")
        if not until(self.is_healthy):
            raise AssertionError("the cluster does not come together")
        self.ids = ids
        keys = (f"probe{number}" for number in range(100))
        self.probe = next(key for key in keys if int(self.primaries[0].send("CLUSTER", "KEYSLOT", key)) <= 5460)
        self.url = "redis-cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.primaries)

    def is_healthy(self):
        def well(node):
            info = node.send("CLUSTER", "INFO")
            return "cluster_state:ok" in info and "cluster_slots_ok:16384" in info and "known_nodes:6" in info

        in_step = all("master_link_status:up" in node.send("INFO", "replication") for node in self.replicas)
        return in_step and all(map(well, self.processes)) and all(len(n.send("CLUSTER", "SLOTS")) == 3 for n in self.processes)

    def accepts_writes(self):
        """The first replica, once it has the slots of its primary."""
        return accepts_writes(self.replicas[0].port, self.probe)
