"""The container image, as deploy/packages/image makes it of the release build: what is inside, and that it runs.

It runs with crun or runc if one of them works on this machine, else in its root with chroot. Needs root."""

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

from support import pip_packages
from support.environment import TIMEOUT, wait_until

SOURCE = Path(__file__).resolve().parents[2]
VERSION = re.search(r"^project\(sluice VERSION ([\d.]+) ", (SOURCE / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
MEGABYTE = 1_000_000
USER = 65532
SPDX_TOOLS = "spdx-tools==0.8.5"


def run(*command, **options):
    options = {"capture_output": True, "text": True, "timeout": TIMEOUT, "check": False} | options
    return subprocess.run(list(map(str, command)), **options)


def build(folder):
    """Makes the image. Returns its archive."""
    made = run(SOURCE / "deploy/packages/image", "--out", folder)
    if made.returncode:
        raise AssertionError(made.stdout + made.stderr)
    return Path(made.stdout.splitlines()[0])


class Image:
    """An archive with an OCI layout, read by the specification."""

    def __init__(self, archive):
        self.archive = archive
        with tarfile.open(archive) as layout:
            self.files = {member.name: layout.extractfile(member).read() for member in layout if member.isfile()}
        (self.reference,) = json.loads(self.files["index.json"])["manifests"]
        self.manifest = json.loads(self.blob(self.reference))
        self.config = json.loads(self.blob(self.manifest["config"]))
        self.layers = [self.blob(layer) for layer in self.manifest["layers"]]

    def blob(self, descriptor):
        algorithm, digest = descriptor["digest"].split(":")
        content = self.files[f"blobs/{algorithm}/{digest}"]
        assert hashlib.new(algorithm, content).hexdigest() == digest
        assert len(content) == descriptor["size"]
        return content

    def members(self):
        """Headers and contents of all files, by their names."""
        found = {}
        for layer in self.layers:
            with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
                for member in tar:
                    found[member.name] = member, tar.extractfile(member).read() if member.isfile() else b""
        return found

    def unpack(self, folder):
        folder.mkdir()
        for layer in self.layers:
            subprocess.run(["tar", "-xz", "--numeric-owner", "-C", folder], input=layer, check=True)


class ImageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.image = Image(build(cls.folder / "image"))
        cls.members = cls.image.members()


class Content(ImageTest):
    def test_two_builds_are_identical(self):
        again = build(self.folder / "again")
        self.assertEqual(again.read_bytes(), self.image.archive.read_bytes())
        bills = [path.with_suffix(".spdx.json").read_bytes() for path in (again, self.image.archive)]
        self.assertEqual(*bills)

    def test_it_is_small(self):
        packed = sum(layer["size"] for layer in self.image.manifest["layers"])
        unpacked = sum(member.size for member, _ in self.members.values())
        print(f"\nthe image has {packed / MEGABYTE:.1f} MB, unpacked {unpacked / MEGABYTE:.1f} MB", flush=True)
        self.assertLess(packed, 40 * MEGABYTE)
        self.assertLess(unpacked, 40 * MEGABYTE)

    def test_diff_ids_are_those_of_the_layers(self):
        found = [f"sha256:{hashlib.sha256(gzip.decompress(layer)).hexdigest()}" for layer in self.image.layers]
        self.assertEqual(self.image.config["rootfs"]["diff_ids"], found)

    def test_the_binary_is_the_only_program(self):
        programs = {name for name, (member, _) in self.members.items() if member.isfile() and member.mode & 0o111}
        libraries = {name for name in programs if name.startswith("usr/lib")}
        self.assertEqual(programs - libraries, {"usr/bin/sluice"})
        self.assertFalse([name for name in self.members if Path(name).name in ("sh", "bash", "dash", "busybox")])

    def test_only_the_state_directory_belongs_to_the_user(self):
        owned = {name for name, (member, _) in self.members.items() if (member.uid, member.gid) != (0, 0)}
        self.assertEqual(owned, {"var/lib/sluice"})
        self.assertEqual((self.members["var/lib/sluice"][0].uid, self.members["var/lib/sluice"][0].gid), (USER, USER))
        for name, (member, _) in self.members.items():
            with self.subTest(name=name):
                self.assertFalse(member.mode & 0o6000)
                if name != "tmp" and not member.issym():
                    self.assertFalse(member.mode & 0o022)

    def test_the_configuration_starts_the_server_as_a_user(self):
        config = self.image.config["config"]
        self.assertEqual((config["User"], config["Entrypoint"], config["Cmd"]),
                         (f"{USER}:{USER}", ["/usr/bin/sluice"], ["serve"]))  # fmt: skip
        self.assertEqual((self.image.config["os"], self.image.config["architecture"]), ("linux", "amd64"))
        labels = config["Labels"]
        self.assertEqual(labels["org.opencontainers.image.version"], VERSION)
        self.assertEqual(labels["org.opencontainers.image.licenses"], "MIT")
        self.assertEqual(labels["org.opencontainers.image.title"], "sluice")
        self.assertEqual(self.image.manifest["annotations"], labels)

    def test_authorities_can_be_used(self):
        path = self.folder / "authorities.crt"
        path.write_bytes(self.members["etc/ssl/certs/ca-certificates.crt"][1])
        self.assertGreater(len(ssl.create_default_context(cafile=path).get_ca_certs()), 50)

    def test_the_bill_of_materials_names_exactly_what_is_inside(self):
        inside = "usr/share/doc/sluice/sbom.spdx.json"
        bill = json.loads(self.members[inside][1])
        self.assertEqual(bill, json.loads(self.image.archive.with_suffix(".spdx.json").read_text(encoding="utf-8")))
        self.assertEqual(bill["spdxVersion"], "SPDX-2.3")
        files = {file["fileName"]: dict(each.values() for each in file["checksums"]) for file in bill["files"]}
        contents = {f"./{name}": content for name, (member, content) in self.members.items()
                    if member.isfile() and name != inside}  # fmt: skip
        self.assertEqual({name: sums["SHA256"] for name, sums in files.items()},
                         {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()})  # fmt: skip
        names = {package["SPDXID"]: package["name"] for package in bill["packages"]}
        paths = {file["SPDXID"]: file["fileName"] for file in bill["files"]}
        self.assertEqual((len(names), len(paths)), (len(bill["packages"]), len(bill["files"])))
        contained, static = {}, set()
        for relationship in bill["relationships"]:
            one, other = relationship["spdxElementId"], relationship["relatedSpdxElement"]
            if relationship["relationshipType"] == "CONTAINS":
                contained.setdefault(names[one], set()).add(paths[other])
            elif relationship["relationshipType"] == "STATIC_LINK":
                static.add(names[other])
        self.assertEqual(set(names.values()), set(contained))
        # Code of these is in the binary; of the others, files are in the image.
        self.assertLessEqual({"libssl-dev", "libyaml-cpp-dev"}, static)
        self.assertFalse([path for name in static for path in contained[name] if ".so" in path])
        self.assertEqual(set().union(*contained.values()), set(files))
        status = {Path(name).name for name in contents if name.startswith("./var/lib/dpkg/status.d/")}
        self.assertEqual(set(contained) - {"sluice"}, status)
        for name, its in contained.items():
            self.assertIn(f"./usr/share/doc/{name}/copyright", its)
        # dpkg, which did not write the bill, agrees about every library. It knows some of them without /usr.
        libraries = {(name, path[1:]) for name, its in contained.items() for path in its if ".so" in path}
        self.assertTrue(libraries)
        names = [known for _, path in libraries for known in (path, path.removeprefix("/usr"))]
        owners = set(re.findall(r"(?m)^([^:,]+)(?::\w+)?: (?:/usr)?(/lib\S+)$", run("dpkg-query", "-S", *names).stdout))
        self.assertLessEqual({(name, path.removeprefix("/usr")) for name, path in libraries}, owners)

    def test_the_bill_of_materials_is_valid_spdx(self):
        tools = SOURCE / "build/spdx-tools" / SPDX_TOOLS
        tools.parent.mkdir(parents=True, exist_ok=True)
        if not pip_packages.install(SPDX_TOOLS, tools):
            self.skipTest(f"pip cannot install {SPDX_TOOLS}")
        bill = self.image.archive.with_suffix(".spdx.json")

        def validate(path):
            program = (sys.executable, "-B", "-m", "spdx_tools.spdx.clitools.pyspdxtools", "--infile", path)
            return run(*program, env=os.environ | {"PYTHONPATH": str(tools)})

        validated = validate(bill)
        self.assertEqual(validated.returncode, 0, validated.stderr)
        wrong = self.folder / "wrong.spdx.json"
        wrong.write_text(bill.read_text(encoding="utf-8").replace('"filesAnalyzed": true', '"filesAnalyzed": false', 1), encoding="utf-8")
        self.assertNotEqual(validate(wrong).returncode, 0)

    @unittest.skipUnless(shutil.which("skopeo"), "skopeo is not installed")
    def test_skopeo_reads_and_copies_it(self):
        for transport in ("oci-archive", "docker-archive"):
            with self.subTest(transport=transport):
                inspected = run("skopeo", "inspect", f"{transport}:{self.image.archive}")
                self.assertEqual(inspected.returncode, 0, inspected.stderr)
                self.assertEqual(json.loads(inspected.stdout)["Labels"], self.image.config["config"]["Labels"])
        copied = run("skopeo", "--insecure-policy", "copy", f"oci-archive:{self.image.archive}", f"dir:{self.folder}/copied")
        self.assertEqual(copied.returncode, 0, copied.stderr)
        manifest = json.loads((self.folder / "copied/manifest.json").read_text(encoding="utf-8"))
        self.assertEqual(manifest["layers"], self.image.manifest["layers"])


    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("podman"), "needs root and podman")
    def test_podman_loads_it(self):
        storage = ("--root", self.folder / "storage", "--runroot", self.folder / "run", "--storage-driver", "vfs")
        loaded = run("podman", *storage, "load", "--input", self.image.archive)
        self.assertEqual(loaded.returncode, 0, loaded.stderr)
        self.assertIn(f"localhost/sluice:{VERSION}", loaded.stdout)


class Runtime:
    """A container of crun or runc, with a network of its own."""

    def __init__(self, program, folder, root, config, variables):
        self.program, self.bundle = program, folder / program
        self.name = f"sluice-test-{os.getpid()}-{program}"
        self.bundle.mkdir()
        self.environment = [*config["Env"], *variables]
        user, group = map(int, config["User"].split(":"))
        spec = {
            "ociVersion": "1.0.0",
            "root": {"path": str(root), "readonly": True},
            "process": {
                "user": {"uid": user, "gid": group},
                "args": [*config["Entrypoint"], *config["Cmd"]],
                "env": self.environment,
                "cwd": config["WorkingDir"],
                "noNewPrivileges": True,
            },
            "mounts": [
                {"destination": "/proc", "type": "proc", "source": "proc"},
                {"destination": "/dev", "type": "tmpfs", "source": "tmpfs"},
                *({"destination": path, "type": "tmpfs", "source": "tmpfs", "options": [f"uid={user}", f"gid={group}"]}
                  for path in config["Volumes"]),
            ],
            "linux": {"namespaces": [{"type": each} for each in ("pid", "network", "ipc", "uts", "mount")]},
        }  # fmt: skip
        (self.bundle / "config.json").write_text(json.dumps(spec), encoding="utf-8")

    def start(self, log):
        return subprocess.Popen([self.program, "run", "--bundle", self.bundle, self.name], stdout=log, stderr=log)

    def pid(self):
        state = run(self.program, "state", self.name)
        return json.loads(state.stdout)["pid"] if state.returncode == 0 else None

    def run_inside(self, *arguments):
        return run(self.program, "exec", self.name, "/usr/bin/sluice", *arguments)

    def terminate(self, _process):
        run(self.program, "kill", self.name, "TERM")

    def remove(self):
        run(self.program, "delete", "--force", self.name)


class Chroot:
    """The same with unshare and chroot, for machines on which no runtime works."""

    program = "chroot"

    def __init__(self, folder, root, config, variables):
        self.root, self.config = root, config
        self.pid_file = folder / "pid"
        self.variables = dict(each.split("=", 1) for each in (*config["Env"], *variables)) | {"PATH": os.environ["PATH"]}

    def start(self, log):
        volumes = " ".join(f"{self.root}{path}" for path in self.config["Volumes"])
        script = f"""set -e
mount --make-rprivate /
mount --bind {self.root} {self.root}
mount -o remount,ro,bind {self.root}
for volume in {volumes}; do mount -t tmpfs -o uid={USER},gid={USER} tmpfs "$volume"; done
ip link set lo up
echo $$ > {self.pid_file}
exec chroot --userspec={USER}:{USER} {self.root} "$@"
"""
        command = [*self.config["Entrypoint"], *self.config["Cmd"]]
        return subprocess.Popen(
            ["unshare", "--mount", "--net", "sh", "-c", script, "sh", *command],
            stdout=log,
            stderr=log,
            env=self.variables,
        )

    def pid(self):
        return int(self.pid_file.read_text(encoding="utf-8") or 0) if self.pid_file.is_file() else None

    def run_inside(self, *arguments):
        target = ["nsenter", "--target", self.pid(), "--mount", "--net"]
        command = ["chroot", f"--userspec={USER}:{USER}", self.root, "/usr/bin/sluice", *arguments]
        return run(*target, *command, env=self.variables)

    def terminate(self, process):
        process.terminate()

    def remove(self):
        pass


@unittest.skipUnless(os.geteuid() == 0, "only root can unpack and run the image")
class Running(ImageTest):
    VARIABLES = ("SLUICE_LOG_FORMAT=json",)

    def container(self):
        """The first way to run the image that works here."""
        root, config = self.folder / "root", self.image.config["config"]
        self.image.unpack(root)
        for program in ("crun", "runc"):
            if not shutil.which(program):
                continue
            probe = Runtime(program, self.folder, root, config | {"Cmd": ["--version"]}, ())
            with (self.folder / "probe.log").open("w") as log:
                works = probe.start(log).wait(TIMEOUT) == 0
            probe.remove()
            shutil.rmtree(probe.bundle)
            if works:
                return Runtime(program, self.folder, root, config, self.VARIABLES)
            print(f"{program} does not work here: {(self.folder / 'probe.log').read_text(encoding='utf-8').strip()}")
        return Chroot(self.folder, root, config, self.VARIABLES)

    def test_it_runs_with_a_read_only_root_and_answers(self):
        container = self.container()
        print(f"the image runs with {container.program}")
        path = self.folder / "log"
        with path.open("w") as log:
            process = container.start(log)
        self.addCleanup(container.remove)
        try:
            self.watch(container, process, path)
            container.terminate(process)
            self.assertEqual(process.wait(TIMEOUT), 0, path.read_text(encoding="utf-8"))
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()

    def watch(self, container, process, log):
        def text():
            return log.read_text(encoding="utf-8")

        def is_healthy():
            self.assertIsNone(process.poll(), text())
            return container.pid() and container.run_inside("healthcheck").returncode == 0

        wait_until(is_healthy, text)
        self.assertEqual(container.run_inside("healthcheck", "--live").stdout, "http://127.0.0.1:8080: live\n")
        self.assertEqual(container.run_inside("--version").stdout, f"sluice {VERSION}\n")
        script = (
            "import sys, urllib.request\n"
            "for path in sys.argv[1:]: print(urllib.request.urlopen('http://127.0.0.1:8080' + path, timeout=60).status)"
        )
        paths = "/livez", "/readyz", "/api/v1/rate-limit/check?key=alice"
        asked = run("nsenter", "--net", "--target", container.pid(), sys.executable, "-c", script, *paths)
        self.assertEqual(asked.stdout.split(), ["200"] * 3, asked.stderr)
        status = Path(f"/proc/{container.pid()}/status").read_text(encoding="utf-8")
        self.assertRegex(status, rf"Uid:\s+{USER}\s+{USER}\s+{USER}\s+{USER}\n")
        self.assertRegex(status, r"CapEff:\s+0000000000000000\n")
        # The state directory can be written, and nothing else.
        blocked = container.run_inside("block", "api_key=mallory", "--wait", "10s")
        self.assertEqual(blocked.returncode, 0, blocked.stderr)
        self.assertNotIn('"warn"', text())


if __name__ == "__main__":
    unittest.main()
