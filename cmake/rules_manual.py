"""Prints docs/rules.md as the manual page sluice-rules(5): rules_manual.py <docs/rules.md> <version>

Knows the Markdown of that file: headings, paragraphs, lists, tables and blocks of code. Rows of tables become paragraphs with
the first column as their tag.
"""

import re
import sys
from pathlib import Path

_ITEM = re.compile(r"(?P<mark>-|\d+\.) +(?P<text>.*)")
_CONTENTS = re.compile(r"^- \[[^\]]*\]\(#")


def escape(text):
    text = text.replace("\\", r"\e").replace("-", r"\-").replace("…", "...")
    return rf"\&{text}" if text.startswith((".", "'")) else text


def inline(text):
    """Text with links, code and emphasis."""
    text = re.sub(r"\[([^\]]*)\]\(#[^)]*\)", r"\1", text)  # A part of this page.
    text = re.sub(r"\[([^\]]*)\]\(([\w.-]+)[^)]*\)", lambda link: _reference(*link.groups()), text)
    parts = re.split(r"`([^`]*)`", text)
    for at, part in enumerate(parts):
        parts[at] = rf"\fB{escape(part)}\fR" if at % 2 else re.sub(r"\*+([^*]+)\*+", r"\\fI\1\\fR", escape(part))
    return "".join(parts).replace("\n", " ")


def _reference(text, document):
    return text if document in text else f"{text} ({document})"


def table(rows):
    cells = [[cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", row.strip("| \n"))] for row in rows]
    heading, body = cells[0], cells[2:]
    for row in body:
        yield ".TP"
        yield inline(row[0]) or r"\&"
        yield inline(row[1]) or r"\&"
        for name, cell in zip(heading[2:], row[2:]):
            if cell:
                yield ".br"
                yield inline(f"{name}: {cell}")


def block(lines):
    """One paragraph, list or table."""
    if lines[0].startswith("|"):
        yield from table(lines)
    elif _CONTENTS.match(lines[0]):
        return
    elif _ITEM.match(lines[0]):
        for item in re.split(r"\n(?=(?:-|\d+\.) )", "\n".join(lines)):
            found = _ITEM.match(item)
            yield f'.IP "{found["mark"] if found["mark"] != "-" else chr(92) + "(bu"}" 4'
            yield inline(" ".join(line.strip() for line in item[found.start("text") :].split("\n")))
    else:
        yield ".PP"
        yield inline("\n".join(line.strip() for line in lines))


def page(text, version):
    yield f'.TH SLUICE\\-RULES 5 "" "sluice {version}" "File Formats"'
    yield ".SH NAME"
    yield r"sluice\-rules \- rule files of the rate limiter sluice"
    yield ".SH DESCRIPTION"
    in_code, lines = False, []
    for line in [*text.splitlines()[1:], ""]:
        fence = line.lstrip().startswith("```")
        if in_code and not fence:
            yield escape(line) or r"\&"
            continue
        if lines and (not line or fence or line.startswith("#")):
            yield from block(lines)
            lines = []
        if fence:
            in_code = not in_code
            yield from (".PP", ".RS 4", ".nf") if in_code else (".fi", ".RE")
        elif line.startswith("#"):
            marks, title = line.split(" ", 1)
            yield f'{".SH" if marks == "##" else ".SS"} "{inline(title)}"'
        elif line:
            lines.append(line)
    yield ".SH SEE ALSO"
    yield r".BR sluice (1)"


if __name__ == "__main__":
    print("\n".join(page(Path(sys.argv[1]).read_text(encoding="utf-8"), sys.argv[2])))
