"""docs/rules.schema.json accepts the rule files that load, and notices what it can of those that don't."""

import json
import re
import sys
from pathlib import Path

import house

_BLOCK = re.compile(r"^```yaml\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
# Bad files of which a schema can see what is wrong: names, types and words.
_VISIBLE = {
    "conditions", "costs", "override_fields", "per", "store_failure", "unknown_fields",
    "unknown_fields_everywhere", "wrong_top_level_types", "wrong_types", "root_is_a_list",
}  # fmt: skip


def _good_files(root):
    """(name, text) of every rule file that loads: the tests' and the document's."""
    for path in house.files(root, {".yaml"}, "src/rules/testdata/good"):
        yield str(path), house.read(root, path)
    text = house.read(root, "docs/rules.md")
    for block in _BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 1
        yield f"docs/rules.md:{line}", block["text"]


def _load(yaml, text):
    """Times stay texts, as in YAML 1.2."""

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers = {
            first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
            for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

    return yaml.load(text, Loader)


def _problems_of(validator, yaml, text):
    return [error.message[:200] for error in validator.iter_errors(_load(yaml, text))]


def check(root):
    import jsonschema
    import yaml

    schema = json.loads(house.read(root, "docs/rules.schema.json"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    problems, good, bad = [], 0, 0
    for name, text in _good_files(root):
        good += 1
        problems += [f"{name}: loads, but the schema says: {error}" for error in _problems_of(validator, yaml, text)]
    for path in house.files(root, {".yaml"}, "src/rules/testdata/bad"):
        if path.stem in _VISIBLE:
            bad += 1
            if not _problems_of(validator, yaml, house.read(root, path)):
                problems.append(f"{path}: the schema finds nothing wrong")
    if good < 10 or bad != len(_VISIBLE):
        problems.append(f"found only {good} good and {bad} bad files")
    return problems


if __name__ == "__main__":
    try:
        import jsonschema  # noqa: F401
        import yaml  # noqa: F401
    except ImportError as missing:
        print(f"skipped: {missing}")
        sys.exit(77)
    house.run(check)
