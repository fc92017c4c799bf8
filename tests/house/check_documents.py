"""Documents are true: relative links lead somewhere, and ./dev knows the sub-commands they name."""

import re
from pathlib import Path

import house

_FENCE = re.compile(r"^ *(```|~~~)")
_CODE_SPAN = re.compile(r"`[^`\n]+`")
_LINK = re.compile(r"\[[^\]]*\]\((?P<to>[^()\s]+)\)")
_HEADING = re.compile(r"^#+ +(?P<title>.+?) *#*$")
_DEV_CALL = re.compile(r"\./dev (?P<command>[a-z]+)")
_DEV_COMMAND = re.compile(r"^cmd_(?P<command>[a-z]+)\(\)", re.MULTILINE)


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


def check(root):
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
                for link in _LINK.finditer(_CODE_SPAN.sub("", line)):
                    reason = _link_problem(root, path, link["to"])
                    if reason:
                        problems.append(f"{path}:{number}: {reason}")
    return problems


if __name__ == "__main__":
    house.run(check)
