"""Python packages that a test installs with pip into a folder of the build, without an environment."""

import shutil
import subprocess
import sys


def install(package, folder, *options):
    """Installs a package, "name==version", unless the folder exists. Returns whether the package is there."""
    if folder.exists():
        return True
    half = folder.with_suffix(".new")
    shutil.rmtree(half, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    completed = subprocess.run(
        [*pip, "install", "--quiet", "--retries", "1", "--timeout", "15", *options, "--target", str(half), package],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if completed.returncode == 0:
        half.rename(folder)
    else:
        print(completed.stderr.strip())
    return completed.returncode == 0
