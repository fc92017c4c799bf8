"""How the tests run: timeouts, less work under sanitizers, tests that cannot run here."""

import concurrent.futures
import os
import sys
import time

TIMEOUT = 60  # Seconds until a test fails; long, because machines that run tests are busy.
SANITIZED = os.environ.get("SLUICE_SANITIZED") == "1"
SKIPPED = 77  # The exit code that ctest counts as skipped.


def scaled(amount):
    """Less work for a server that was built with sanitizers."""
    return amount // 10 if SANITIZED else amount


def wait_until(condition, reason=""):
    """Calls `condition` until it returns something true, which is returned; fails after TIMEOUT."""
    deadline = time.monotonic() + TIMEOUT
    while not (result := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {TIMEOUT} s: {reason() if callable(reason) else reason or condition}")
        time.sleep(0.02)
    return result


def run_in_parallel(function, *arguments):
    """Calls the function in a thread for each of the tuples of arguments. Returns the results, raises what it raised."""
    with concurrent.futures.ThreadPoolExecutor(len(arguments)) as pool:
        return [future.result() for future in [pool.submit(function, *each) for each in arguments]]


def skip_all(reason):
    """Ends a test program that cannot run here."""
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)
