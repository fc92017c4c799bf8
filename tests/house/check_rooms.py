"""Who may look into which room: the real includes against rooms.json, which src/README.md repeats.

Also: every room has a README.md and a CMakeLists.txt that names each of its files.
"""

import json
import re
from pathlib import Path

import house

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?P<how>[<"])(?P<what>[^>"\n]+)[>"]', re.MULTILINE)
_STD_HEADER = re.compile(r"[a-z0-9_]+")
_README_ROW = re.compile(r"^\| *`(?P<room>[a-z_/]+?)/?` *\|.*\| *(?P<may>[^|]+?) *\|$", re.MULTILINE)
_FACE = "include/sluice"
_TABLE = Path(__file__).with_name("rooms.json")


def _path(name):
    return name if name == _FACE else f"src/{name}"


def load_rooms(table=_TABLE):
    """Room → the rooms it may look into, directly. A later room may only look into earlier ones."""
    rooms = {}
    for entry in json.loads(table.read_text(encoding="utf-8"))["rooms"]:
        may = entry["may_include"]
        direct = list(rooms) if may == ["all above"] else [_path(name) for name in may]
        unknown = [room for room in direct if room not in rooms]
        if unknown:
            raise ValueError(f"{table.name}: {entry['path']} may look into {unknown}, which does not come before it")
        rooms[entry["path"]] = direct
    return rooms


def load_folders(table=_TABLE):
    """Room → its folders, besides testing."""
    entries = json.loads(table.read_text(encoding="utf-8"))["rooms"]
    return {entry["path"]: entry.get("folders", []) for entry in entries}


def closure(rooms):
    """Room → every room it may look into, those of its rooms included."""
    reach = {}
    for room, direct in rooms.items():
        reach[room] = set(direct).union(*(reach[other] for other in direct))
    return reach


def room_of(path, rooms):
    """The innermost room that a file or folder lies in, or None."""
    return next((str(p) for p in (Path(path), *Path(path).parents) if str(p) in rooms), None)


def _is_testing(path):
    return "testing" in Path(path).parts


def _is_test(path):
    return path.name.endswith(("_test.cc", "_bench.cc")) or _is_testing(path)


def _target(root, path, how, what):
    """The file of ours that an include means, relative to root, or None."""
    if what.startswith("sluice/"):
        return Path("include", what)
    places = [Path("src")] if how == "<" else [Path("src"), path.parent] if path.parts[0] == "apps" else [Path("src")]
    return next((place / what for place in places if (root / place / what).is_file()), None)


def _judge(root, path, how, what, rooms, reach):
    """Why the file must not include this, or None."""
    room = room_of(path, rooms)
    target = _target(root, path, how, what)
    if room == _FACE and not (how == "<" and (target or _STD_HEADER.fullmatch(what))):
        return f"{_FACE} may include only the standard library and <sluice/...>"
    if target is None:
        return "no such file under src/: our includes are written relative to src/" if how == '"' else None
    if not (root / target).is_file():
        return f"there is no {target}"
    if (how == "<") != (target.parts[0] == "include"):
        return "<...> is for installed headers, quotes are for those under src/"
    other = room_of(target, rooms)
    if other != room and other not in reach[room]:
        return f"{room} may not look into {other}; it may look into: {', '.join(sorted(reach[room])) or 'nothing'}"
    if _is_testing(target) and not _is_test(path):
        return "testing/ is for tests, benchmarks and other testing/ folders"
    return None


def check_includes(root, rooms):
    reach = closure(rooms)
    problems = []
    for under in ("include", "src", "apps"):
        for path in house.cpp_files(root, under):
            if room_of(path, rooms) is None:
                continue  # check_rooms tells.
            text = house.without(house.read(root, path), "comment", "raw")
            for match in _INCLUDE.finditer(text):
                reason = _judge(root, path, match["how"], match["what"], rooms, reach)
                if reason:
                    line = text.count("\n", 0, match.start("how")) + 1
                    problems.append(f"{path}:{line}: {match.group().strip()}: {reason}")
    return problems


def check_rooms(root, rooms):
    folders = load_folders()
    problems = []
    built = {}
    for under in ("include", "src", "apps"):
        for path in house.cpp_files(root, under):
            room = room_of(path, rooms)
            inside = ["", "testing", *folders.get(room, [])]
            if room is None or path.parent not in [Path(room, folder) for folder in inside]:
                problems.append(f"{path}: {path.parent} is no room; rooms are listed in tests/house/{_TABLE.name}")
            else:
                built.setdefault(room, []).append(path.relative_to(room))
    for room, paths in sorted(built.items()):
        if not (root / room / "README.md").is_file():
            problems.append(f"{room}: has no README.md")
        if not (root / room / "CMakeLists.txt").is_file():
            problems.append(f"{room}: has no CMakeLists.txt")
            continue
        named = set(re.split(r"[\s()]+", house.read(root, Path(room, "CMakeLists.txt"))))
        problems += [f"{room}/{path}: not named in {room}/CMakeLists.txt" for path in paths if str(path) not in named]
    return problems


def check_readme(root, rooms):
    """src/README.md shows the same table."""
    readme = root / "src/README.md"
    if not readme.is_file():
        return ["src/README.md: missing; it names every room and what the room may look into"]
    shown = {row["room"]: row["may"].replace("`", "") for row in _README_ROW.finditer(house.read(root, readme))}
    problems = []
    names = list(rooms)
    for i, (room, direct) in enumerate(rooms.items()):
        wanted = {"std"} if not direct else set(direct)
        found = shown.pop(room, None)
        if found is None:
            problems.append(f"src/README.md: the table lacks {room}")
        elif found == "all above":
            if set(direct) != set(names[:i]):
                problems.append(f"src/README.md: {room} may not look into all above")
        elif {name if name == "std" else _path(name) for name in found.split(", ")} != wanted:
            problems.append(f"src/README.md: {room} may look into {', '.join(sorted(wanted))}, not {found}")
    return problems + [f"src/README.md: {room} is not in tests/house/{_TABLE.name}" for room in shown]


def check(root):
    rooms = load_rooms()
    return check_rooms(root, rooms) + check_includes(root, rooms) + check_readme(root, rooms)


if __name__ == "__main__":
    house.run(check)
