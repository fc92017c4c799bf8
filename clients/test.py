"""Tests the adapters: unit tests, the contract and the examples of each language whose toolchain is there.

    ./dev test-clients                    all
    ./dev test-clients python express     all of Python; one adapter
    ./dev test-clients litellm            sluice-litellm

Dependencies are fetched into build/clients/. A language without its toolchain, or whose dependencies can't be had, is
skipped, and the last lines say so. Exits with 1 if a test fails, and with 77 if everything was skipped.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent.resolve()
BUILD = FOLDER.parent / "build" / "clients"
ADAPTERS = json.loads((FOLDER / "contract" / "adapters.json").read_text(encoding="utf-8"))
MAX_LINES = 150


class Skipped(Exception):
    pass


def fetch(command, what, **options):
    """Runs a command that may need a package registry."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode != 0:
        last = [line for line in done.stdout.splitlines() if line.strip()][-1:]
        raise Skipped(f"{what} can't be had: {' '.join(last)}")


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skipped(f"there is no {program}")


def is_current(stamp, *sources):
    """Whether what the stamp stands for was made of these texts; notes that it is about to be."""
    text = "\n".join(source.read_text(encoding="utf-8") for source in sources)
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == text:
        return True
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.unlink(missing_ok=True)
    return False


def note(stamp, *sources):
    stamp.write_text("\n".join(source.read_text(encoding="utf-8") for source in sources), encoding="utf-8")


class Python:
    """A folder with packages, what their tests need, and the tests."""

    def __init__(self, name, folder):
        self.environment_folder, self.folder = BUILD / name, folder

    def prepare(self):
        if sys.version_info < (3, 11):
            raise Skipped("Python 3.11 is needed")
        wanted, stamp = self.folder / "requirements-test.txt", self.environment_folder / "stamp"
        programs = self.environment_folder / "bin"
        if not is_current(stamp, wanted):
            fetch([sys.executable, "-m", "venv", "--clear", self.environment_folder], "a virtual environment")
            fetch([programs / "pip", "install", "--quiet", "-r", wanted], "Python packages")
            note(stamp, wanted)
        self.program = str(programs / "python")
        self.environment = {
            "PYTHONPATH": f"{FOLDER.parent / 'tests'}:{self.folder}",
            "PATH": f"{programs}:{os.environ['PATH']}",
        }

    def unit_tests(self):
        return [self.program, "-B", "-m", "unittest", "discover", "-s", self.folder / "tests", "-p", "*_test.py"]

    def application(self, _):
        return [self.program, "-B", self.folder / "tests" / "contract_app.py"]


class Node:
    def prepare(self):
        need("node", "npm")
        folder, source = BUILD / "node", FOLDER / "node"
        wanted = [source / "package.json", source / "package-lock.json"]
        shutil.copytree(source, folder, dirs_exist_ok=True)
        if not is_current(folder / "stamp", *wanted):
            fetch(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], "npm packages", cwd=folder)
            note(folder / "stamp", *wanted)
        shutil.rmtree(folder / "dist", ignore_errors=True)
        subprocess.run([folder / "node_modules" / ".bin" / "tsc", "-p", folder], check=True)
        self.folder, self.environment = folder, {"CLIENTS_NODE": str(folder)}

    def unit_tests(self):
        return ["node", "--test", *sorted((self.folder / "dist" / "test").glob("*.test.js"))]

    def application(self, _):
        return ["node", self.folder / "dist" / "test" / "contract_app.js"]


class Go:
    modules = (FOLDER / "go", FOLDER / "go" / "sluicegrpc")

    def prepare(self):
        need("go")
        for module in self.modules:
            fetch(["go", "mod", "download"], "Go modules", cwd=module)
        (BUILD / "go").mkdir(parents=True, exist_ok=True)
        for name, module in zip(("http", "grpc"), self.modules):
            program = BUILD / "go" / name
            subprocess.run(["go", "build", "-o", program, "./internal/contractapp"], cwd=module, check=True)
        self.environment = {}

    def unit_tests(self):
        tests = " && ".join(f"(cd '{module}' && go vet ./... && go test -count=1 ./...)" for module in self.modules)
        return ["bash", "-c", tests]

    def application(self, adapter):
        return [BUILD / "go" / ("http" if adapter == "net-http" else "grpc")]


def long_files():
    """Adapters are thin: no file of one has more than 150 lines."""
    patterns = ("python/sluice_client/**/*.py", "python/litellm/sluice_litellm/*.py", "go/**/*.go", "node/**/*.ts")
    sources = [source for pattern in patterns for source in FOLDER.glob(pattern)]
    others = {"test", "tests", "internal", "dist", "node_modules"}
    sources = [source for source in sources if not others & set(source.relative_to(FOLDER).parts)]
    sources = [source for source in sources if not source.name.endswith("_test.go")]
    lengths = {source: len(source.read_text(encoding="utf-8").splitlines()) for source in sources}
    return [f"{source}: {length} lines" for source, length in lengths.items() if length > MAX_LINES]


def test_language(name, language, adapters, with_units):
    """The names of what failed."""
    language.prepare()
    environment = os.environ | language.environment
    programs = {f"{name}: unit tests": language.unit_tests()} if with_units else {}
    for adapter in adapters:
        suite = [sys.executable, "-B", FOLDER / "contract" / "suite.py", adapter, *language.application(adapter)]
        programs[f"{name}: contract of {adapter}"] = suite
    if with_units and adapters:
        programs[f"{name}: examples"] = [sys.executable, "-B", FOLDER / "contract" / "examples.py", name]
    failed = []
    for title, command in programs.items():
        print(f"=== {title}", flush=True)
        # The suite itself needs nothing but the standard library.
        if subprocess.run(list(map(str, command)), env=environment, check=False).returncode != 0:
            failed.append(title)
    return failed


def main(wanted):
    python = FOLDER / "python"
    # litellm is not an adapter of the contract, and needs other versions of packages.
    languages = {"python": Python("python", python), "litellm": Python("litellm", python / "litellm"), "node": Node(), "go": Go()}
    if unknown := set(wanted) - set(languages) - set(ADAPTERS):
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; there is: {', '.join([*languages, *ADAPTERS])}")
    failed, skipped, tested = long_files(), [], []
    for name, language in languages.items():
        own = [adapter for adapter, about in ADAPTERS.items() if about["language"] == name]
        with_units = not wanted or name in wanted
        adapters = own if with_units else [adapter for adapter in own if adapter in wanted]
        if not adapters and not with_units:
            continue
        try:
            failed += test_language(name, language, adapters, with_units)
            tested.append(name)
        except Skipped as reason:
            skipped.append(f"{name}: {reason}")
        except subprocess.CalledProcessError as error:
            failed.append(f"{name}: {error}")
    print("===")
    print(*(f"tested: {name}" for name in tested), *(f"SKIPPED: {reason}" for reason in skipped), sep="\n")
    print(*(f"FAILED: {title}" for title in failed), sep="\n")
    sys.exit(1 if failed else 0 if tested else 77)


if __name__ == "__main__":
    main(sys.argv[1:])
