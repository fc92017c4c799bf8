"""Takes the C++ blocks out of README.md and docs/**/*.md, so that they are compiled and run.

    ```cpp            a whole program: compiled and run
    ```cpp norun      compiled only
    ```cpp fragment   left alone: for what can't stand by itself

Usage: extract_examples.py <root> <output folder>. Prints a line `run|norun <name>` for each file
<name>.cc that it wrote.
"""

import re
import sys
from pathlib import Path

import house

_BLOCK = re.compile(r"^```cpp(?P<info>[^\n]*)\n(?P<code>.*?)^```\s*$", re.MULTILINE | re.DOTALL)
_MODES = {"": "run", "norun": "norun", "fragment": None}


def extract(root):
    """([(name, mode, source)], [problem]) of all documents."""
    examples, problems = [], []
    documents = [Path("README.md")] if (root / "README.md").is_file() else []
    for path in documents + house.files(root, {".md"}, "docs"):
        text = house.read(root, path)
        for block in _BLOCK.finditer(text):
            line = text.count("\n", 0, block.start()) + 1
            info = block["info"].strip()
            if info not in _MODES:
                problems.append(f"{path}:{line}: unknown kind of example: cpp {info}")
            elif info != "fragment" and "#include" not in block["code"]:
                problems.append(f"{path}:{line}: not a whole program (no #include); complete it, or mark it `cpp fragment`")
            elif _MODES[info]:
                name = re.sub(r"\W+", "_", f"{path.with_suffix('')}_{line}")
                source = f'#line {line + 1} "{path}"\n{block["code"]}'
                examples.append((name, _MODES[info], source))
    return examples, problems


def main():
    root, out = Path(sys.argv[1]), Path(sys.argv[2])
    examples, problems = extract(root)
    if problems:
        sys.exit("\n".join(problems))
    out.mkdir(parents=True, exist_ok=True)
    for name, mode, source in examples:
        file = out / f"{name}.cc"
        if not file.is_file() or file.read_text(encoding="utf-8") != source:
            file.write_text(source, encoding="utf-8")
        print(mode, name)


if __name__ == "__main__":
    main()
