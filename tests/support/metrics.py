"""Reads Prometheus' text format."""

import re

SERIES = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def parse(text):
    """Name, labels and value of each series."""
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels, value = SERIES.fullmatch(line).groups()
            yield name, dict(LABEL.findall(labels or "")), float(value)


def total(text, name, **labels):
    """The sum of all series of this name that have these labels; 0 if there is none."""
    return sum(
        value for found, has, value in parse(text) if found == name and labels.items() <= has.items()
    )
