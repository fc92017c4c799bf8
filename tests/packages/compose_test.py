"""compose.yaml and the Dockerfile, without a container engine: Compose reads the file, its files exist, the server accepts
its settings, and buildah builds the image on a Debian root made here."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import yaml

from support.debian_root import clean_archive, reason_to_skip

SOURCE = Path(__file__).resolve().parents[2]
SLUICE = SOURCE / "build/release/bin/sluice"
COMPOSE = next((command for command in (["docker", "compose"], ["docker-compose"])
                if shutil.which(command[0]) and not subprocess.run([*command, "version"], capture_output=True).returncode),
               None)  # fmt: skip
MINUTES = 60


def run(*command, timeout=2 * MINUTES, **options):
    options = {"capture_output": True, "text": True, "check": False} | options
    return subprocess.run(list(map(str, command)), timeout=timeout, cwd=SOURCE, **options)


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


@unittest.skipIf(reason_to_skip(), reason_to_skip())
@unittest.skipUnless(shutil.which("buildah"), "buildah is not installed")
class Dockerfile(unittest.TestCase):
    """Compiles the whole server: takes as long as the first build."""

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        # Storage of its own, without kernel support for overlays, without cgroups.
        self.buildah = (
            "buildah", "--root", self.folder / "storage", "--runroot", self.folder / "run", "--storage-driver", "vfs",
        )  # fmt: skip

    def expect(self, *command, **options):
        done = run(*command, **options)
        self.assertEqual(done.returncode, 0, (done.stdout + done.stderr)[-4000:])
        return done.stdout.strip()

    def test_it_builds_the_same_root_from_source(self):
        base = clean_archive("bookworm")
        container = self.expect(*self.buildah, "from", "scratch")
        self.expect(*self.buildah, "add", container, base, "/")
        self.expect(*self.buildah, "commit", "--rm", container, "base", timeout=10 * MINUTES)
        self.expect(
            *self.buildah, "build", "--isolation", "chroot", "--network", "host", "--build-arg", "BASE=localhost/base",
            "--pull=never", "--format", "docker", "--tag", "sluice", ".", timeout=120 * MINUTES,
        )  # fmt: skip
        config = json.loads(self.expect(*self.buildah, "inspect", "--type", "image", "sluice"))["Docker"]["config"]
        self.assertEqual((config["User"], config["Entrypoint"], config["Cmd"]),
                         ("65532:65532", ["/usr/bin/sluice"], ["serve"]))  # fmt: skip
        self.assertEqual(config["Healthcheck"]["Test"], ["CMD", "/usr/bin/sluice", "healthcheck"])
        built = self.expect(*self.buildah, "from", "--pull=never", "localhost/sluice")
        root = Path(self.expect(*self.buildah, "mount", built))
        self.addCleanup(run, *self.buildah, "umount", built)
        made = self.folder / "made"
        self.expect("deploy/packages/image", "--root", made, env=os.environ | {"SOURCE_DATE_EPOCH": "0"})
        names = [{str(path.relative_to(each)) for path in each.rglob("*")} for each in (root, made)]
        self.assertEqual(*names)
        self.assertEqual((root / "var/lib/sluice").stat().st_uid, 65532)
        version = self.expect("chroot", "--userspec=65532:65532", root, "/usr/bin/sluice", "--version")
        self.assertEqual(version, self.expect(SLUICE, "--version"))


if __name__ == "__main__":
    unittest.main()
