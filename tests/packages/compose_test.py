"""compose.yaml and the Dockerfile, without a container engine: Compose reads the file, its services run as processes in a
network that knows their names, and buildah builds the image on a Debian root made here."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import yaml
from image_test import Image, build
from support.debian_root import clean_archive, reason_to_skip
from support.environment import TIMEOUT, wait_until

SOURCE = Path(__file__).resolve().parents[2]
SLUICE = SOURCE / "build/release/bin/sluice"
COMPOSE = next((command for command in (["docker", "compose"], ["docker-compose"])
                if shutil.which(command[0]) and not subprocess.run([*command, "version"], capture_output=True).returncode),
               None)  # fmt: skip
MINUTES = 60
TOKEN = "token-of-the-compose-test"


def run(*command, timeout=2 * MINUTES, **options):
    options = {"capture_output": True, "text": True, "check": False} | options
    return subprocess.run(list(map(str, command)), timeout=timeout, cwd=SOURCE, **options)


def linked_packages(root):
    """The packages whose code is part of the binary, from the bill of materials of an image."""
    bill = json.loads((root / "usr/share/doc/sluice/sbom.spdx.json").read_text(encoding="utf-8"))
    names = {package["SPDXID"]: package["name"] for package in bill["packages"]}
    return [names[each["relatedSpdxElement"]] for each in bill["relationships"] if each["relationshipType"] == "STATIC_LINK"]


def status_of(root, package):
    return (root / "var/lib/dpkg/status.d" / package).read_bytes()


class ComposeFile(unittest.TestCase):
    def setUp(self):
        self.services = yaml.safe_load((SOURCE / "compose.yaml").read_text(encoding="utf-8"))["services"]
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    @unittest.skipUnless(COMPOSE, "Compose is not installed")
    def test_compose_reads_the_file(self):
        listed = run(*COMPOSE, "--profile", "monitoring", "config", "--services")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertEqual(set(listed.stdout.split()), {"sluice", "redis", "prometheus", "grafana"})

    def test_monitoring_is_a_profile(self):
        profiles = {name: service.get("profiles", []) for name, service in self.services.items()}
        monitoring = ["monitoring"]
        self.assertEqual(profiles, {"sluice": [], "redis": [], "prometheus": monitoring, "grafana": monitoring})

    def test_mounted_files_exist(self):
        mounts = [mount for service in self.services.values() for mount in service.get("volumes", ())]
        files = [mount.split(":")[0] for mount in mounts if mount.startswith(".")]
        self.assertGreaterEqual(len(files), 4)
        for file in files:
            self.assertTrue((SOURCE / file).exists(), file)

    def test_ports_are_on_this_machine_only(self):
        for name, service in self.services.items():
            for port in service.get("ports", ()):
                self.assertTrue(port.startswith("127.0.0.1:"), (name, port))

    def test_the_server_accepts_the_settings(self):
        service = self.services["sluice"]
        variables = {name: re.sub(r"\$\{\w+:-\}", "", value) for name, value in service["environment"].items()}
        settings = SOURCE / "deploy/image/sluice.yaml"
        printed = run(SLUICE, "serve", "--config", settings, "--print-config", env=variables)
        self.assertEqual((printed.returncode, printed.stderr), (0, ""))
        effective = yaml.safe_load(printed.stdout)
        self.assertEqual(effective["store"], "redis://redis:6379")
        listeners = [effective[name]["listen"] for name in ("http", "resp", "grpc")]
        self.assertEqual([f":{port.split(':')[2]}" for port in service["ports"]], listeners)

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed")
    def test_prometheus_accepts_its_configuration_and_scrapes_the_service(self):
        for mount in self.services["prometheus"]["volumes"]:
            source, target = mount.split(":")[:2]
            if source.startswith("."):
                shutil.copy(SOURCE / source, self.folder / Path(target).name)
        checked = run("promtool", "check", "config", self.folder / "prometheus.yml")
        self.assertEqual(checked.returncode, 0, checked.stderr)
        self.assertIn("rules found", checked.stdout)
        config = yaml.safe_load((self.folder / "prometheus.yml").read_text(encoding="utf-8"))
        self.assertEqual(config["scrape_configs"][0]["static_configs"], [{"targets": ["sluice:8080"]}])

    def test_grafana_finds_the_dashboard(self):
        mounts = dict(mount.split(":")[1::-1] for mount in self.services["grafana"]["volumes"])
        provisioning = SOURCE / mounts["/etc/grafana/provisioning"]
        (provider,) = yaml.safe_load((provisioning / "dashboards/sluice.yml").read_text(encoding="utf-8"))["providers"]
        dashboards = list((SOURCE / mounts[provider["options"]["path"]]).glob("*.json"))
        self.assertTrue(dashboards)
        home = Path(self.services["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
        self.assertTrue((SOURCE / mounts[str(home.parent)] / home.name).is_file())


class Network:
    """A network and a view of the file system of their own, in which the services have names, and addresses that are not
    loopback. `prepare`: commands that mount what the view has in addition."""

    def __init__(self, folder, names, prepare):
        hosts = folder / "hosts"
        addresses = [f"10.0.0.{number}" for number in range(1, len(names) + 1)]
        lines = ("127.0.0.1 localhost", *map(" ".join, zip(addresses, names, strict=True)))
        hosts.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        script = "\n".join((
            "set -e", "mount --make-rprivate /", "ip link set lo up",
            *(f"ip address add {address}/32 dev lo" for address in addresses),
            f"mount --bind {hosts} /etc/hosts", *prepare, "echo ready", "exec sleep infinity",
        ))  # fmt: skip
        self.processes = [
            subprocess.Popen(["unshare", "--net", "--mount", "sh", "-c", script], stdout=subprocess.PIPE, text=True)
        ]
        assert self.processes[0].stdout.readline() == "ready\n"
        self.enter = (shutil.which("nsenter"), "--target", str(self.processes[0].pid), "--net", "--mount")

    def run(self, *command, **options):
        return run(*self.enter, *command, **options)

    def start(self, log, *command, **options):
        with log.open("w") as file:
            self.processes.append(subprocess.Popen([*self.enter, *command], stdout=file, stderr=file, **options))
        return self.processes[-1]

    def close(self):
        for process in reversed(self.processes):
            process.terminate()
            process.wait(TIMEOUT)
        self.processes[0].stdout.close()


@unittest.skipUnless(os.geteuid() == 0, "only root can make a network")
@unittest.skipUnless(shutil.which("redis-server"), "redis-server is not installed")
class Services(unittest.TestCase):
    """The services as processes: their commands, environment, health checks and mounted files are those of the file."""

    def setUp(self):
        self.services = yaml.safe_load((SOURCE / "compose.yaml").read_text(encoding="utf-8"))["services"]
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        image = Image(build(self.folder / "image"))
        self.root, self.config = self.folder / "root", image.config["config"]
        image.unpack(self.root)
        user, group = self.config["User"].split(":")
        (self.root / "etc/hosts").touch()  # Where an engine mounts its own.
        prepare = (
            f"mount --bind {self.root} {self.root}",
            f"mount -o remount,ro,bind {self.root}",
            f"mount --bind {self.folder}/hosts {self.root}/etc/hosts",
            *(f"mount -t tmpfs -o uid={user},gid={group} tmpfs {self.root}{path}" for path in self.config["Volumes"]),
        )
        self.network = Network(self.folder, list(self.services), prepare)
        self.addCleanup(self.network.close)

    def inside(self, *command):
        """A command in the root of the image, as its user."""
        return (shutil.which("chroot"), f"--userspec={self.config['User']}", self.root, *command)

    def health_check(self, name):
        kind, *command = self.services[name]["healthcheck"]["test"]
        self.assertEqual(kind, "CMD")
        return command

    def start(self, name, command, health_check, **options):
        log = self.folder / f"{name}.log"
        self.network.start(log, *command, **options)
        wait_until(lambda: self.network.run(*health_check, **options).returncode == 0, lambda: log.read_text(encoding="utf-8"))

    def get(self, *arguments):
        answer = self.network.run("curl", "-sS", "-w", "\n%{http_code}", *arguments)
        body, _, status = answer.stdout.rpartition("\n")
        return int(status), body

    def test_sluice_and_redis_answer(self):
        begin = time.monotonic()
        self.start_services()
        comment = re.search(r"^# +(curl .*)$", (SOURCE / "compose.yaml").read_text(encoding="utf-8"), re.MULTILINE)[1]
        answer = self.network.run("sh", "-c", comment).stdout
        print(f"\nstart of Redis and Sluice to the first answer: {time.monotonic() - begin:.1f} s", flush=True)
        self.assertRegex(answer, r"^HTTP/1.1 200 ")
        self.assertRegex(answer.lower(), r"\nx-ratelimit-remaining: \d+")
        self.assertNotEqual(self.network.run("redis-cli", "dbsize").stdout, "0\n")
        blocks = "http://sluice:8080/admin/v1/entries"
        self.assertIn(self.get(blocks)[0], (401, 403))
        self.assertEqual(self.get("-H", f"Authorization: Bearer {TOKEN}", blocks)[0], 200)

    def start_services(self):
        redis = (*self.services["redis"]["command"], "--protected-mode", "no", "--dir", self.folder)  # As its image has it.
        self.start("redis", redis, self.health_check("redis"))
        variables = dict(each.split("=", 1) for each in self.config["Env"])
        variables |= {name: re.sub(r"\$\{\w+:-\}", TOKEN, value) for name, value in self.services["sluice"]["environment"].items()}
        command = self.inside(*self.config["Entrypoint"], *self.config["Cmd"])
        self.start("sluice", command, self.inside(*self.health_check("sluice")), env=variables)

    @unittest.skipUnless(shutil.which("prometheus"), "prometheus is not installed")
    def test_prometheus_scrapes_sluice(self):
        self.start_services()
        for mount in self.services["prometheus"]["volumes"]:
            source, target = mount.split(":")[:2]
            if source.startswith("."):
                shutil.copy(SOURCE / source, self.folder / Path(target).name)
        log = self.folder / "prometheus.log"
        self.network.start(log, "prometheus", f"--config.file={self.folder}/prometheus.yml", f"--storage.tsdb.path={self.folder}/metrics")

        def ask(path):
            status, body = self.get(f"http://prometheus:9090/api/v1/{path}")
            return json.loads(body)["data"] if status == 200 else {}

        def is_up():
            return [each["value"][1] for each in ask("query?query=up").get("result", ())] == ["1"]

        wait_until(is_up, lambda: log.read_text(encoding="utf-8"))
        self.assertTrue(ask("rules")["groups"])


@unittest.skipIf(reason_to_skip(), reason_to_skip())
@unittest.skipUnless(shutil.which("buildah"), "buildah is not installed")
class Dockerfile(unittest.TestCase):
    """Compiles the whole server: takes as long as the first build."""

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        # Storage of its own, without kernel support for overlays, without cgroups. Its cache of the compiler is kept.
        self.cache = SOURCE / "build/roots/buildah"
        self.cache.mkdir(parents=True, exist_ok=True)
        self.buildah = (
            "buildah", "--root", self.folder / "storage", "--runroot", self.folder / "run", "--storage-driver", "vfs",
        )  # fmt: skip

    def expect(self, *command, **options):
        done = run(*command, **options)
        self.assertEqual(done.returncode, 0, (done.stdout + done.stderr)[-4000:])
        return done.stdout.strip()

    def test_it_builds_the_same_root_from_source(self):
        base, revision = clean_archive("bookworm"), self.expect("git", "rev-parse", "HEAD")
        container = self.expect(*self.buildah, "from", "scratch")
        self.expect(*self.buildah, "add", container, base, "/")
        self.expect(*self.buildah, "commit", "--rm", container, "base", timeout=10 * MINUTES)
        self.expect(
            *self.buildah, "build", "--isolation", "chroot", "--network", "host", "--build-arg", "BASE=localhost/base",
            "--build-arg", f"SLUICE_REVISION={revision}", "--pull=never", "--format", "docker", "--tag", "sluice", ".", timeout=120 * MINUTES, env=os.environ | {"TMPDIR": str(self.cache)},
        )  # fmt: skip
        config = json.loads(self.expect(*self.buildah, "inspect", "--type", "image", "sluice"))["Docker"]["config"]
        self.assertEqual(config["Healthcheck"]["Test"], ["CMD", "/usr/bin/sluice", "healthcheck"])
        expected = Image(build(self.folder / "image")).config["config"]
        for name in ("User", "Entrypoint", "Cmd", "Env", "ExposedPorts", "Volumes"):
            self.assertEqual(config[name], expected[name])
        prefix = "org.opencontainers.image."
        labels = {prefix + name: expected["Labels"][prefix + name] for name in ("title", "description", "licenses")}
        self.assertEqual(config["Labels"], config["Labels"] | labels | {prefix + "revision": revision})
        built = self.expect(*self.buildah, "from", "--pull=never", "localhost/sluice")
        root = Path(self.expect(*self.buildah, "mount", built))
        self.addCleanup(run, *self.buildah, "umount", built)
        made = self.folder / "made"
        self.expect("deploy/packages/image", "--root", made, env=os.environ | {"SOURCE_DATE_EPOCH": "0"})
        names = [{str(path.relative_to(each)) for path in each.rglob("*")} for each in (root, made)]
        self.assertEqual(*names)
        # From the same packages, the other folder and system make no difference.
        if others := sorted(name for name in linked_packages(made) if len({status_of(each, name) for each in (root, made)}) > 1):
            print(f"\nthe binaries are not compared, because this system has other versions of {', '.join(others)}", flush=True)
        else:
            self.assertEqual(*((each / "usr/bin/sluice").read_bytes() for each in (root, made)))
        self.assertEqual((root / "var/lib/sluice").stat().st_uid, 65532)
        version = self.expect("chroot", "--userspec=65532:65532", root, "/usr/bin/sluice", "--version")
        self.assertEqual(version, self.expect(SLUICE, "--version"))


if __name__ == "__main__":
    unittest.main()
