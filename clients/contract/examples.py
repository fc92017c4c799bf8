"""Runs the examples of the READMEs and of docs/clients/, as a reader would.

    PYTHONPATH=tests SLUICE=build/release/bin/sluice python3 -B clients/contract/examples.py python|node|go

A page has files, as blocks whose info string ends with a name (```yaml rules.yaml), commands (```sh; those that install or
start Sluice are done here) and sessions (```console): after each `$ command`, lines that its output must contain. Files
named test… are tests, which run without a server. Ports 8080, 6380 and 8000 are replaced with free ones, and deadlines of
20 ms with long ones.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support.environment import TIMEOUT, wait_until
from support.ports import free_port
from support.sluice import Server

CLIENTS = Path(__file__).parent.parent.resolve()
DOCS = CLIENTS.parent / "docs" / "clients"
PAGES = {
    "python": [
        CLIENTS / "python/sluice_client/fastapi/README.md", CLIENTS / "python/sluice_client/django/README.md",
        CLIENTS / "python/sluice_client/limits/README.md", DOCS / "fastapi.md", DOCS / "django.md", DOCS / "slowapi.md",
        DOCS / "flask-limiter.md",
    ],
    "node": [CLIENTS / "node/express/README.md", CLIENTS / "node/fastify/README.md", DOCS / "express.md", DOCS / "fastify.md"],
    "go": [
        CLIENTS / "go/sluicehttp/README.md", CLIENTS / "go/sluicegrpc/README.md", DOCS / "net-http.md", DOCS / "grpc.md",
    ],
}  # fmt: skip
# Of every example: on a busy machine it would decide who passes.
DEADLINE = re.compile(r"""(deadline(?:Ms)?"?\s*[=:]\s*)(0\.020|20\b)""", re.IGNORECASE)
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DONE_HERE = re.compile(r"(pip|npm|go (get|mod)|\./dev|sluice) ")
TESTS = {".py": "python -m unittest {}", ".mjs": "node --test {}", ".go": "go test -count=1 ./..."}


class Page:
    def __init__(self, path, ports):
        def replaced(text):
            text = DEADLINE.sub(lambda found: found[1] + {"0.020": "20", "20": "20000"}[found[2]], text)
            return re.sub(r"\b(8080|6380|8000)\b", lambda port: str(ports[port[1]]), text)

        blocks = BLOCK.findall(path.read_text(encoding="utf-8"))
        self.files = {name: replaced(text) for _, name, text in blocks if name}
        commands = [line for kind, name, text in blocks if kind == "sh" and not name for line in text.splitlines()]
        self.commands = [replaced(line) for line in commands if line and not DONE_HERE.match(line)]
        self.session = [replaced(text) for kind, _, text in blocks if kind == "console"]

    def write_to(self, folder):
        for name, text in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")


class ExamplesTest(unittest.TestCase):
    def run_page(self, path):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        has_rules = "rules.yaml" in dict.fromkeys(
            name for _, name, _ in BLOCK.findall(path.read_text(encoding="utf-8"))
        )
        rules = ["--rules", folder / "rules.yaml"] if has_rules else []
        ports = {"8080": free_port(), "6380": free_port(), "8000": free_port()}
        page = Page(path, ports)
        page.write_to(folder)
        prepare(folder)
        self.assertTrue(page.session, "a page has a session")
        self.assertRegex(path.read_text(encoding="utf-8"), DEADLINE, "an example has a deadline")
        self.run_tests(folder, page)
        with Server(*rules, http_port=ports["8080"], resp_port=ports["6380"]):
            log = self.enterContext(open(folder / "output of the example", "w+", encoding="utf-8"))
            started = [start(command, folder, log) for command in page.commands]
            try:
                wait_until(lambda: is_open(ports["8000"]) or any(one.poll() is not None for one in started))
                for session in page.session:
                    self.run_session(session, folder)
            except AssertionError as error:
                log.seek(0)
                raise AssertionError(f"{error}\n{log.read()}") from error
            finally:
                for one in started:
                    os.killpg(one.pid, signal.SIGKILL)
                    one.wait()

    def run_tests(self, folder, page):
        tests = [name for name in page.files if name.startswith("test") or name.endswith("_test.go")]
        for name in tests:
            command = TESTS[Path(name).suffix].format(Path(name).stem if name.endswith(".py") else name)
            done = run(command, folder)
            self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}")

    def run_session(self, session, folder):
        for part in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            output = run(command, folder).stdout
            lines = [line.strip().lower() for line in output.splitlines()]
            for line in expected.splitlines():
                self.assertIn(line.strip().lower(), lines, f"$ {command}\n{output}")


def environment():
    return os.environ | {"NO_COLOR": "1", "GOFLAGS": "-mod=mod", "PYTHONDONTWRITEBYTECODE": "1"}


def run(command, folder):
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment(), text=True, timeout=TIMEOUT * 4, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def start(command, folder, log):
    return subprocess.Popen(
        ["bash", "-c", f"exec {command}"], cwd=folder, env=environment(), start_new_session=True, stdout=log, stderr=log
    )


def is_open(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def prepare(folder):
    """What the installation commands of the pages do."""
    if LANGUAGE == "node":
        built = Path(os.environ["CLIENTS_NODE"])
        shutil.copytree(built / "node_modules", folder / "node_modules", symlinks=True, copy_function=os.link)
        (folder / "node_modules" / "@sluice").mkdir(exist_ok=True)
        # Below the folder itself, so that the packages that the adapters import are the example's.
        shutil.copytree(built / "dist", folder / "node_modules" / "@sluice" / "client" / "dist")
        shutil.copy(built / "package.json", folder / "node_modules" / "@sluice" / "client")
    if LANGUAGE == "go":
        module = (CLIENTS / "go" / "sluicegrpc" / "go.mod").read_text(encoding="utf-8")
        module = module.replace("module sluice.example/client/sluicegrpc", "module example")
        module = module.replace("replace sluice.example/client => ../", "")
        for name, source in (("client/sluicegrpc", "go/sluicegrpc"), ("client", "go")):
            module += f"\nrequire sluice.example/{name} v0.0.0\nreplace sluice.example/{name} => {CLIENTS / source}\n"
        (folder / "go.mod").write_text(module.replace("\tsluice.example/client v0.0.0\n", ""), encoding="utf-8")
        shutil.copy(CLIENTS / "go" / "sluicegrpc" / "go.sum", folder)


def add_tests(language):
    for path in PAGES[language]:
        name = f"test_{path.relative_to(CLIENTS.parent).with_suffix('')}".replace("/", "_").replace("-", "_")
        setattr(ExamplesTest, name, lambda self, path=path: self.run_page(path))


if __name__ == "__main__":
    LANGUAGE = sys.argv[1]
    add_tests(LANGUAGE)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=int(os.environ.get("CONTRACT_VERBOSITY", "1")))
