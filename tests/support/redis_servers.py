"""Real Redis servers: single, behind sentinels, in a cluster. They notice failures soon, and end with the test."""

import contextlib
import signal
import subprocess
import tempfile
from pathlib import Path

from support import resp
from support.environment import TIMEOUT, wait_until
from support.ports import free_port

START_ATTEMPTS = 5


class RedisServer:
    """A redis-server on a free port of 127.0.0.1 and on a Unix socket, without persistence unless arguments say so.

    `sentinel`: lines of the configuration of a sentinel. `cluster`: a node of a cluster, with a bus port."""

    def __init__(self, *arguments, sentinel=(), cluster=False, program="redis-server", start=True):
        self.arguments, self.sentinel, self.cluster, self.program = arguments, sentinel, cluster, program
        self.folder = tempfile.TemporaryDirectory()
        self.unix_socket = str(Path(self.folder.name) / "redis.sock")  # Can be reached from every network.
        self.log = Path(self.folder.name) / "redis.log"
        self.known_port = self.bus_port = self.process = None
        if start:
            self.start()

    @property
    def port(self):
        """Fixed once it was read."""
        if self.known_port is None:
            self.known_port, self.bus_port = free_port(), free_port()
        return self.known_port

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}"

    def start(self):
        """Tries other ports if another process has the port, unless the port is known already."""
        attempts = 1 if self.known_port else START_ATTEMPTS
        while not self._start_once():
            attempts -= 1
            if attempts == 0:
                raise AssertionError(f"redis-server ended:\n{self.log.read_text(encoding='utf-8')}")
            self.known_port = None

    def _start_once(self):
        """Returns false if the process ended at once."""
        if self.sentinel:
            config = Path(self.folder.name) / "sentinel.conf"
            lines = (f"port {self.port}", f"unixsocket {self.unix_socket}", "protected-mode no", *self.sentinel)
            config.write_text("\n".join(lines) + "\n", encoding="utf-8")
            command = [self.program, str(config), "--sentinel"]
        else:
            command = [self.program, "--port", str(self.port), "--unixsocket", self.unix_socket, "--protected-mode", "no"]
            command += ["--save", "", "--repl-diskless-sync-delay", "0"]
        if self.cluster:
            command += ["--cluster-enabled", "yes", "--cluster-port", str(self.bus_port)]
        with self.log.open("w", encoding="utf-8") as log:
            self.process = subprocess.Popen([*command, *self.arguments], cwd=self.folder.name, stdout=log, stderr=log)
        wait_until(lambda: self.process.poll() is not None or self.answers(), "redis-server answers")
        return self.process.poll() is None

    def answers(self):
        try:
            return self.send("PING") is not None
        except OSError:
            return False

    def accepts_writes(self, key="probe"):
        try:
            return resp.call(self.port, "SET", key, "1", timeout=0.3) == "OK"
        except OSError:
            return False

    def send(self, *words):
        return resp.call(self.unix_socket, *words)

    def kill(self):
        self.process.kill()
        self.process.wait(TIMEOUT)

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process:
            self.kill()
        self.folder.cleanup()


class Deployment:
    """Redis servers that belong together."""

    def __init__(self):
        self.stack = contextlib.ExitStack()
        self.servers = []

    def add(self, *arguments, **more):
        self.servers.append(self.stack.enter_context(RedisServer(*arguments, **more)))
        return self.servers[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()


class Sentinel(Deployment):
    """A primary, a replica and three sentinels. The primary may be in another network."""

    def __init__(self, primary_address="127.0.0.1", others_address="127.0.0.1", primary_program="redis-server"):
        super().__init__()
        self.primary = self.add(program=primary_program)
        self.replica = self.add("--replicaof", f"{primary_address} {self.primary.port}")
        config = (
            f"sentinel monitor mymaster {primary_address} {self.primary.port} 2",
            "sentinel down-after-milliseconds mymaster 500",
            "sentinel failover-timeout mymaster 2000",
        )
        self.sentinels = [self.add(sentinel=config) for _ in range(3)]
        wait_until(self.is_healthy, "the sentinels know each other and the replica")
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
        """The replica, after the failover."""
        return self.replica.accepts_writes()


class Cluster(Deployment):
    """Three primaries, and a replica of each."""

    SLOTS = ((0, 5460), (5461, 10922), (10923, 16383))

    def __init__(self):
        super().__init__()
        for _ in range(6):
            self.add(
                "--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no",
                "--cluster-replica-validity-factor", "0", cluster=True,
            )  # fmt: skip
        self.primaries, self.replicas = self.servers[:3], self.servers[3:]
        self.ids = [node.send("CLUSTER", "MYID") for node in self.servers]
        for node in self.servers:
            self.servers[0].send("CLUSTER", "MEET", "127.0.0.1", node.port, node.bus_port)
        for node, (first, last) in zip(self.primaries, self.SLOTS):
            node.send("CLUSTER", "ADDSLOTSRANGE", first, last)
        for node, primary in zip(self.replicas, self.ids):
            wait_until(lambda node=node, primary=primary: node.send("CLUSTER", "REPLICATE", primary) == "OK")
        wait_until(self.is_healthy, "the cluster is complete")
        keys = (f"probe{number}" for number in range(100))
        self.probe = next(key for key in keys if int(self.primaries[0].send("CLUSTER", "KEYSLOT", key)) <= 5460)
        self.url = "redis-cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.primaries)

    def is_healthy(self):
        def is_complete(node):
            info = node.send("CLUSTER", "INFO")
            known = "cluster_state:ok" in info and "cluster_slots_ok:16384" in info and "known_nodes:6" in info
            return known and len(node.send("CLUSTER", "SLOTS")) == 3

        in_sync = all("master_link_status:up" in node.send("INFO", "replication") for node in self.replicas)
        return in_sync and all(map(is_complete, self.servers))

    def accepts_writes(self):
        """The replica of the first primary, after the failover."""
        return self.replicas[0].accepts_writes(self.probe)
