"""The rule service of a server: /admin/v1."""

import json

from support.environment import wait_until
from support.sluice import ServerTest

YAML = {"Content-Type": "application/yaml"}


def rules(limit, rule="api", more=""):
    """A document with one rule."""
    return f"# {rule}\nrules:\n  - {{ id: {rule}, algorithm: fixed_window, limit: {limit}, window: 1d }}\n{more}"


class ControlTest(ServerTest):
    """A test with servers whose rules come from a store."""

    def serve_store(self, *flags, state="state", **options):
        return self.serve("--rules-source", "store", "--state-dir", self.folder / state, *flags, **options)

    def get(self, server, headers=()):
        return server.request("GET", "/admin/v1/rules", headers=headers)

    def etag(self, server):
        return self.get(server).headers["ETag"]

    def put(self, server, document, query="", path="", tag=None, headers=()):
        """Replaces the document, by default the current version. `tag`: "" for none."""
        tag = self.etag(server) if tag is None else tag
        all_headers = YAML | dict(headers) | ({"If-Match": tag} if tag else {})
        return server.request("PUT", f"/admin/v1/rules{path}{query}", document, all_headers)

    def commit(self, server, document, query="", **options):
        """Replaces the document, and waits until all nodes have it. Returns the body."""
        query += "&wait=20s" if query else "?wait=20s"
        response = self.put(server, document, query, **options)
        self.assertEqual(response.status, 200, response.text)
        return response.json()

    def versions(self, server):
        return server.request("GET", "/admin/v1/rules/versions").json()["versions"]

    def nodes(self, server):
        return server.request("GET", "/admin/v1/nodes").json()["nodes"]

    def audit(self, server, query="?limit=1000"):
        """The newest first."""
        return [json.loads(line) for line in server.request("GET", f"/admin/v1/audit{query}").text.splitlines()]

    def limit_of(self, server, key="someone"):
        """The limit by which a check is decided; None: by none."""
        return server.request("GET", f"/api/v1/rate-limit/remaining?key={key}").headers["X-RateLimit-Limit"]

    def wait_for_limit(self, server, limit):
        wait_until(lambda: self.limit_of(server) == str(limit), lambda: f"limit {limit}, found {self.limit_of(server)}")

    def assert_problem(self, response, status, code):
        self.assertEqual((response.status, response.json().get("code")), (status, code), response.text)

    def assert_chain(self, server):
        """The audit log is one chain without a gap."""
        records = self.audit(server)
        for newer, older in zip(records, records[1:]):
            self.assertEqual(newer["sequence"], older["sequence"] + 1)
            self.assertEqual(newer["previous_hash"], older["hash"])
        return records
