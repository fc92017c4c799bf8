"""Documents are true: relative links lead somewhere, ./dev has the sub-commands they name, the source files they name
exist, the map of the source (docs/architecture.md, docs/glossary.md, the rooms' READMEs) names types and functions that exist,
and the scrape configuration is valid (where promtool is installed). They use technical nouns (docs/glossary.md)."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import house

_FENCE = re.compile(r"^ *(```|~~~)")
_CODE_SPAN = re.compile(r"`[^`\n]+`")
_LINK = re.compile(r"\[[^\]]*\]\((?P<to>[^()\s]+)\)")
_HEADING = re.compile(r"^#+ +(?P<title>.+?) *#*$")
_FILE = re.compile(r"`(?P<file>[\w./-]*\w\.(?:h|cc|lua|py|proto|pml))`")
_SCRAPE = re.compile(r"^```yaml\n(?P<text>[^`]*^scrape_configs:\n.*?)^```$", re.MULTILINE | re.DOTALL)
_IDENTIFIER = re.compile(r"`(?P<name>[A-Z][a-z]\w*(?:::\w+)*)`")
_VAGUE = re.compile(r"\b(?:told|whoever|nobody|somebody|patience|doubts?|goes by)\b", re.IGNORECASE)
_DEV_CALL = re.compile(r"\./dev (?P<command>[a-z]+(?:-[a-z]+)*)")
_DEV_COMMAND = re.compile(r"^cmd_(?P<command>[a-z-]+)\(\)", re.MULTILINE)


def _lines(text):
    """(number, line, whether the line is code) of a document."""
    in_fence = False
    for number, line in enumerate(text.splitlines(), 1):
        fence = bool(_FENCE.match(line))
        yield number, line, in_fence or fence
        in_fence ^= fence


def _anchors(text):
    """The anchors of a document's headings, as GitHub makes them."""
    titles = [_HEADING.match(line) for _, line, code in _lines(text) if not code]
    return {re.sub(r"[^\w\- ]", "", match["title"].lower()).replace(" ", "-") for match in titles if match}


def _link_problem(root, path, to):
    if re.match(r"[a-z]+:", to):
        return None  # Another site.
    name, _, anchor = to.partition("#")
    target = root / path.parent / name if name else root / path
    if not target.exists():
        return f"the link leads nowhere: {to}"
    if anchor and target.suffix == ".md" and anchor not in _anchors(target.read_text(encoding="utf-8")):
        return f"{name or path} has no heading for #{anchor}"
    return None


def _is_file(sources, document, name):
    """Whether a document may mean a source file by this name: from its own folder, from src/ or from the root. A README
    means files of its own folder and below by names without a folder."""
    wanted = Path(os.path.normpath(name)).parts
    wanted = wanted[sum(part == ".." for part in wanted) :]
    own = document.parent if document.name == "README.md" and len(wanted) == 1 and name == wanted[0] else Path()
    return any(path.parts[-len(wanted) :] == wanted and path.is_relative_to(own) for path in sources)


def _is_map(path):
    return path.parts[0] == "src" or path.as_posix() in ("docs/architecture.md", "docs/glossary.md")


def _scrape_problems(root):
    """What promtool finds in the scrape configuration of docs/metrics.md, which uses the alerts of deploy/."""
    metrics, alerts = root / "docs/metrics.md", root / "deploy/prometheus/alerts.yml"
    if not metrics.is_file() or not alerts.is_file() or not shutil.which("promtool"):
        return []
    block = _SCRAPE.search(metrics.read_text(encoding="utf-8"))
    if not block:
        return ["docs/metrics.md: has no scrape configuration"]
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(alerts, folder)
        config = Path(folder, "prometheus.yml")
        config.write_text(block["text"], encoding="utf-8")
        done = subprocess.run(["promtool", "check", "config", config], capture_output=True, text=True, check=False)
        return [f"docs/metrics.md: {line.strip()}" for line in done.stderr.splitlines()] if done.returncode else []


def check(root):
    sources = house.files(root, {".h", ".cc", ".lua", ".py", ".proto", ".pml"})
    words = set()
    for path in sources:
        if path.suffix in {".h", ".cc"}:
            words.update(re.findall(r"\w+", house.read(root, path)))
    commands = set(_DEV_COMMAND.findall(house.read(root, "dev"))) if (root / "dev").is_file() else set()
    problems = []
    for path in house.files(root, {".md"}):
        for number, line, code in _lines(house.read(root, path)):
            for snippet in [line] if code else _CODE_SPAN.findall(line):
                problems += [
                    f"{path}:{number}: ./dev has no sub-command {command!r}"
                    for command in _DEV_CALL.findall(snippet)
                    if command not in commands
                ]
            if not code:
                problems += [
                    f"{path}:{number}: name the actor or the action instead of {word!r}" for word in _VAGUE.findall(line)
                ]
                for name in _FILE.finditer(line):
                    if not _is_file(sources, path, name["file"]):
                        problems.append(f"{path}:{number}: there is no file {name['file']}")
                if _is_map(path):
                    problems += [
                        f"{path}:{number}: the source has no {name}"
                        for name in _IDENTIFIER.findall(line)
                        if not words.issuperset(name.split("::"))
                    ]
                for link in _LINK.finditer(_CODE_SPAN.sub("", line)):
                    reason = _link_problem(root, path, link["to"])
                    if reason:
                        problems.append(f"{path}:{number}: {reason}")
    return problems + _scrape_problems(root)


if __name__ == "__main__":
    house.run(check)
