"""Packages from PyPI that tests use, installed into build/ once."""

import fcntl
import shutil
import subprocess
import sys


def installed(folder, *requirements, options=()):
    """The folder, after the packages were installed into it; None if they can't be had."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / "lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            _install(folder, requirements, options)
        return folder if folder.exists() else None


def _install(folder, requirements, options):
    half = folder.with_name(folder.name + ".new")
    shutil.rmtree(half, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    completed = subprocess.run(
        [*pip, "install", "--quiet", "--retries", "1", "--timeout", "15", *options, "--target", str(half), *requirements],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if completed.returncode == 0:
        half.rename(folder)
    else:
        print(completed.stderr.strip())
