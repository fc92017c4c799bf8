"""Builds the tree in a clean Debian 13 with ./dev, which installs what it needs; runs the server and a part of the tests."""

import os
import re
import subprocess
import tarfile
import tempfile
import unittest

from support.debian_root import TREE, DebianRoot, reason_to_skip

UNIT_TESTS = ("base_test", "config_text_test", "rules_test", "http_client_test")  # They use every library that differs.
SERVE = """
cd /root/sluice
./dev serve --http 127.0.0.1:0 --resp none --grpc none >/root/printed 2>&1 &
until grep -q 'ping$' /root/printed; do
  kill -0 $! || { cat /root/printed; exit 1; }
  sleep 1
done
curl -sSf -H 'X-API-Key: demo-key' "$(sed -n 's/.* \\(http:.*ping\\)$/\\1/p' /root/printed)" || { cat /root/printed; exit 1; }
kill $!
wait $!
"""


def source(target):
    """Puts the files of the tree into a directory, as a checkout has them."""
    files = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=TREE, capture_output=True, check=True
    ).stdout
    with tempfile.TemporaryFile() as packed:
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for name in files.decode().split("\0")[:-1]:
                if os.path.lexists(TREE / name):
                    archive.add(TREE / name, name)
        packed.seek(0)
        with tarfile.open(fileobj=packed) as archive:
            archive.extractall(target)


@unittest.skipIf(reason_to_skip(), reason_to_skip())
class Debian13(unittest.TestCase):
    def test_the_tree_is_built_served_and_tested(self):
        root = DebianRoot("trixie")
        self.addCleanup(root.close)
        cache = TREE / "build/roots/ccache"
        cache.mkdir(exist_ok=True)
        options = (f"--bind={cache}:/ccache", "--setenv=CCACHE_DIR=/ccache")
        if jobs := os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL"):
            options += (f"--setenv=CMAKE_BUILD_PARALLEL_LEVEL={jobs}",)
        source(root.path / "root/sluice")
        served = root.run("bash", "-c", SERVE, options=options)
        self.assertEqual(served.stdout, '{"message":"pong"}', served.stderr)
        build = f"cmake --build --preset release --target {' '.join(UNIT_TESTS)}"
        tests = f"ctest --preset release -R '^({'|'.join(UNIT_TESTS)})/'"
        done = root.run("sh", "-c", f"cd /root/sluice && {build} && {tests}", options=options)
        self.assertTrue(re.search(r"100% tests passed, 0 tests failed out of \d{3,}", done.stdout), done.stdout[-2000:])


if __name__ == "__main__":
    unittest.main()
