"""Files that servers read."""

from pathlib import Path


def write_rules(folder, text):
    path = Path(folder) / "rules.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def replace_file(path, text):
    """Replaces a file by a rename, as editors and deployments do."""
    path.with_suffix(".new").write_text(text, encoding="utf-8")
    path.with_suffix(".new").rename(path)
