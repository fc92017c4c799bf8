"""Runs check-config, explain and simulate of the binary named by SLUICE, as an operator would."""

import json
import os
import re
import tempfile
import unittest
from pathlib import Path

from support.sluice import run_sluice

FILES = Path(__file__).resolve().parent / "files"
ROOT = Path(os.environ["SOURCE_DIR"])


def sluice(*arguments, stdin=None):
    return run_sluice(*arguments, input=stdin, cwd=FILES)


class CheckConfig(unittest.TestCase):
    def test_good_files_are_summed_up(self):
        completed = sluice("check-config", "keys_and_tiers.yaml", "rate_limits.yaml")
        self.assertEqual(
            (completed.returncode, completed.stdout, completed.stderr),
            (
                0,
                "keys_and_tiers.yaml: good: 2 rules with 2 limits and 1 override, "
                "2 on the allow list, 2 on the deny list\n"
                "rate_limits.yaml: good: 3 rules with 3 limits\n",
                "",
            ),
        )

    def test_all_errors_of_all_files_are_reported(self):
        completed = sluice("check-config", "bad.yaml", "rate_limits.yaml", "missing.yaml")
        self.assertEqual(completed.returncode, 1)
        self.assertEqual(completed.stdout, "rate_limits.yaml: good: 3 rules with 3 limits\n")
        self.assertRegex(completed.stderr, r"(?m)^bad\.yaml:3:5: rules\[0\]\.limt: .*did you mean `limit`")
        self.assertRegex(completed.stderr, r"(?m)^bad\.yaml:6:16: rules\[1\]\.algorithm: .*token_bucket")
        self.assertRegex(completed.stderr, r"(?m)^bad\.yaml:5:\d+: rules\[1\]\.id: .*orders")
        self.assertRegex(completed.stderr, r"(?m)^missing\.yaml: .*No such file")

    def test_unusual_attributes_are_reported(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rules.yaml"
            path.write_text("rules: [{ id: api, per: apikey, limit: 5/m }]\n", encoding="utf-8")
            completed = sluice("check-config", str(path))
            self.assertEqual(completed.returncode, 1)
            self.assertIn("did you mean `api_key`?", completed.stderr)
            path.write_text("rules: [{ id: api, per: region, limit: 5/m }]\n", encoding="utf-8")
            completed = sluice("check-config", str(path))
            self.assertEqual(completed.returncode, 0)
            self.assertRegex(completed.stdout + completed.stderr, r"`region` is no usual attribute.*\(a warning\)")
            path.write_text("attributes: [region]\nrules: [{ id: api, per: region, limit: 5/m }]\n", encoding="utf-8")
            completed = sluice("check-config", str(path))
            self.assertEqual((completed.returncode, completed.stderr), (0, ""))
            self.assertNotIn("warning", completed.stdout)

    def test_expired_rules_are_warnings(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rules.yaml"
            path.write_text("rules: [{ id: sale, limit: 5/m, expires_at: 2001-12-01T00:00:00Z }]\n", encoding="utf-8")
            completed = sluice("check-config", str(path))
            self.assertEqual(completed.returncode, 0)
            self.assertIn("1 rule with 1 limit, 1 with a schedule", completed.stdout)
            self.assertRegex(completed.stderr, r"the rule `sale` has expired: .*2001-12-01T00:00:00Z \(a warning\)")

    def test_json_has_the_same_content(self):
        completed = sluice("check-config", "--json", "bad.yaml", "rate_limits.yaml")
        self.assertEqual((completed.returncode, completed.stderr), (1, ""))
        bad, good = json.loads(completed.stdout)
        self.assertEqual((bad["file"], bad["good"]), ("bad.yaml", False))
        self.assertIn(
            (3, 5, "rules[0].limt"), [(m["line"], m["column"], m["field"]) for m in bad["errors"]]
        )
        self.assertEqual((good["file"], good["good"], good["errors"]), ("rate_limits.yaml", True, []))


class Explain(unittest.TestCase):
    def explain(self, file, *attributes, cost=None):
        arguments = [part for attribute in attributes for part in ("--attr", attribute)]
        if cost is not None:
            arguments += ["--cost", str(cost)]
        completed = sluice("explain", "--rules", file, "--json", *arguments)
        self.assertEqual(completed.returncode, 0, completed.stderr)
        return json.loads(completed.stdout)

    def test_it_says_what_becomes_of_calls_that_lack_an_attribute(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rules.yaml"
            words = ("skip", "shared", "deny")
            rules = [f"{{ id: {word}, per: tenant, on_missing: {word}, limit: 5/m }}" for word in words]
            path.write_text(f"rules: [{', '.join(rules)}]\n", encoding="utf-8")
            explained = self.explain(str(path), "user=alice")
            self.assertEqual([rule["outcome"] for rule in explained["rules"]], ["lacks_attribute", "matched", "matched"])
            shared, denied = explained["rules"][1:]
            self.assertEqual((shared["missing_attribute"], denied["missing_attribute"]), ("tenant", "tenant"))
            self.assertEqual(shared["limits"][0]["key"], "{shared}:shared:requests::missing")
            self.assertTrue(denied["limits"][0]["reject_all"])
            text = sluice("explain", "--rules", str(path), "--attr", "user=alice").stdout
            self.assertIn("rule deny (line 1): matched, the call has no 'tenant': denied", text)
            self.assertIn("denied: the call lacks an attribute that a rule needs", text)

    def test_it_shows_schedules_and_cohorts_at_a_time(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rules.yaml"
            path.write_text(
                "rules:\n"
                "  - { id: sale, limit: 5/s, starts_at: 2026-12-01T00:00:00Z, expires_at: 2026-12-02T00:00:00Z }\n"
                "  - id: api\n"
                "    limits: { rpm: 20/m, trial: { limit: 5/m, shadow: true, starts_at: 2026-12-01T00:00:00Z } }\n"
                "    rollout: { percent: 35, from: { limits: { rpm: 10/m } } }\n",
                encoding="utf-8",
            )

            def explain(key, at):
                arguments = ("explain", "--rules", str(path), "--attr", f"api_key={key}", "--at", at)
                text = sluice(*arguments)
                self.assertEqual(text.returncode, 0, text.stderr)
                return json.loads(sluice(*arguments, "--json").stdout), text.stdout

            explained, text = explain("sk_1", "2026-12-01T00:00:00Z")
            sale, api = explained["rules"]
            self.assertEqual((sale["outcome"], sale["expires_at"]), ("matched", "2026-12-02T00:00:00Z"))
            self.assertEqual((api["outcome"], api["cohort"]), ("matched", "new"))
            self.assertEqual([(limit["name"], limit["shadow"]) for limit in api["limits"]], [("rpm", False), ("trial", True)])
            self.assertIn("in the rollout of 35 %", text)
            self.assertIn("since 2026-12-01T00:00:00Z, until 2026-12-02T00:00:00Z", text)
            self.assertEqual(explained["conclusion"], "allowed if 2 limits have room; 1 in shadow")

            explained, text = explain("sk_2", "2026-11-30T00:00:00Z")
            sale, api = explained["rules"]
            self.assertEqual((sale["outcome"], sale["why_not"]), ("not_started", "it starts at 2026-12-01T00:00:00Z"))
            self.assertEqual((api["cohort"], api["limits"][0]["cap"]), ("old", 10))
            self.assertEqual([limit["name"] for limit in api["skipped_limits"]], ["trial"])
            self.assertIn("outside of the rollout of 35 %: `from` applies", text)

            bad = sluice("explain", "--rules", str(path), "--at", "tomorrow")
            self.assertEqual(bad.returncode, 2)
            self.assertIn("expected a time such as 2026-12-01T00:00:00Z", bad.stderr)

    def matched(self, explained):
        return {rule["id"]: rule for rule in explained["rules"] if rule["outcome"] == "matched"}

    def settings(self, limit):
        return {s["field"]: (s["value"], s["level"]) for s in limit["settings"]}

    def test_an_override_wins_over_its_rule(self):
        explained = self.explain(
            "keys_and_tiers.yaml", "api_key=sk_prod_vip_001", "endpoint=/v1/orders/7"
        )
        rule = self.matched(explained)["rule_001"]
        self.assertEqual((rule["override"], rule["tier"]), ("sk_prod_vip_001", "pro"))
        (limit,) = rule["limits"]
        self.assertEqual(limit["text"], "1000 at once, then 16.67 per second")
        settings = self.settings(limit)
        self.assertEqual(settings["capacity"], ("1000", "override"))
        self.assertEqual(settings["refill_rate"], ("16.67", "override"))
        self.assertEqual(settings["algorithm"], ("token_bucket", "rule"))

    def test_a_key_without_override_has_the_numbers_of_the_rule(self):
        explained = self.explain("keys_and_tiers.yaml", "api_key=sk_prod_2", "endpoint=/v1/orders/7")
        (limit,) = self.matched(explained)["rule_001"]["limits"]
        self.assertEqual(limit["text"], "100 at once, then 1.67 per second")
        self.assertEqual(limit["key"], "{sk_prod_2}:rule_001:requests:")

    def test_a_free_key_has_100_per_60_seconds_on_anything(self):
        for endpoint in ("/v1/orders/7", "/anything", "/"):
            explained = self.explain("keys_and_tiers.yaml", "api_key=sk_free_x", f"endpoint={endpoint}")
            self.assertEqual(list(self.matched(explained)), ["rule_002"])
            (limit,) = self.matched(explained)["rule_002"]["limits"]
            self.assertEqual(limit["algorithm"], "sliding_window_counter")
            self.assertEqual(limit["text"], "about 100 in any 1m")

    def test_lists_are_looked_at_before_rules(self):
        internal = self.explain("keys_and_tiers.yaml", "api_key=sk_internal_7", "endpoint=/v1/orders/7")
        self.assertEqual(internal["listed"], {"list": "allow", "entry": "sk_internal_*", "line": 26})
        self.assertEqual((internal["rules"], internal["conclusion"]), ([], "allowed by the allow list"))
        revoked = self.explain("keys_and_tiers.yaml", "api_key=sk_revoked_7")
        self.assertEqual(revoked["listed"], {"list": "deny", "entry": "sk_revoked_*", "line": 27})
        self.assertEqual(revoked["conclusion"], "denied by the deny list")

    def test_a_rule_that_does_not_match_says_why_not(self):
        explained = self.explain("keys_and_tiers.yaml", "api_key=sk_prod_2", "endpoint=/v2/users")
        self.assertEqual(self.matched(explained), {})
        self.assertEqual([rule["outcome"] for rule in explained["rules"]], ["condition_fails"] * 2)
        self.assertIn("/v2/users", explained["rules"][0]["why_not"])
        self.assertEqual(explained["conclusion"], "allowed: no rule matches")

    def test_the_scopes_of_the_second_form_are_attributes(self):
        explained = self.explain("rate_limits.yaml", "user=alice", "ip=192.0.2.7", cost=3)
        rules = self.matched(explained)
        self.assertEqual(list(rules), ["api_global", "api_per_user", "login_attempts"])
        limits = {name: rule["limits"][0] for name, rule in rules.items()}
        self.assertEqual(limits["api_global"]["text"], "10000 at once, then 100 per second, every 1s")
        self.assertEqual(limits["api_per_user"]["text"], "1500 at once, then 10 per second, every 1s")
        self.assertEqual(limits["login_attempts"]["text"], "5 at once, then 1 per minute, every 1m")
        self.assertEqual(limits["api_per_user"]["key"], "{alice}:api_per_user:requests:")
        self.assertEqual({limit["cost"] for limit in limits.values()}, {3})

    def test_a_cost_of_nothing_is_refused(self):
        completed = sluice("explain", "--rules", "rate_limits.yaml", "--attr", "user=alice", "--cost", "0")
        self.assertEqual(completed.returncode, 2)
        self.assertIn("--cost: Value 0 not in range 1 to ", completed.stderr)

    def test_a_call_that_lacks_an_attribute_of_the_budget_does_not_match_the_rule(self):
        explained = self.explain("rate_limits.yaml", "ip=192.0.2.7")
        outcomes = {rule["id"]: rule["outcome"] for rule in explained["rules"]}
        self.assertEqual(outcomes["api_per_user"], "lacks_attribute")

    def test_a_bad_rule_file_is_reported(self):
        completed = sluice("explain", "--rules", "bad.yaml", "--attr", "api_key=x")
        self.assertEqual((completed.returncode, completed.stdout), (1, ""))
        self.assertIn("bad.yaml:3:5:", completed.stderr)

    def test_an_attribute_without_a_name_is_refused(self):
        for attribute in ("api_key", "=x"):
            completed = sluice("explain", "--rules", "keys_and_tiers.yaml", "--attr", attribute)
            self.assertEqual((completed.returncode, completed.stdout), (2, ""))
            self.assertIn("expected name=value", completed.stderr)

    def test_a_value_may_hold_anything(self):
        explained = self.explain("rate_limits.yaml", "user=a=b, \"c\"", "endpoint=/x?y=[1,2]")
        self.assertEqual(explained["call"]["attributes"][0], {"name": "user", "value": 'a=b, "c"'})


# Two users. Alice calls 6 times in the first ten seconds (twice in the third), once in the next ten;
# Bob calls once; one call is on the deny list, one on the allow list, one has no user.
TRACE = (FILES / "calls.csv").read_text(encoding="utf-8")


class Simulate(unittest.TestCase):
    def simulate(self, trace, *arguments, rules="before.yaml"):
        completed = sluice("simulate", "--rules", rules, "--traffic", "-", *arguments, stdin=trace)
        self.assertEqual(completed.returncode, 0, completed.stderr)
        return completed

    def result(self, trace, *arguments, **keywords):
        return json.loads(self.simulate(trace, "--json", *arguments, **keywords).stdout)

    def test_decisions_are_counted_for_each_rule(self):
        result = self.result(TRACE)
        self.assertEqual(result["trace"]["calls"], 11)
        self.assertEqual(result["trace"]["first"], "2027-01-15T08:00:00Z")
        self.assertEqual(result["trace"]["last"], "2027-01-15T08:00:10Z")
        total = result["rules"]
        # Of Alice's six in the first window four pass.
        self.assertEqual((total["calls"], total["allowed"], total["denied"]), (11, 8, 3))
        self.assertEqual((total["on_allow_list"], total["on_deny_list"], total["no_rule"]), (1, 1, 1))
        per_user, burst = total["rules"]
        self.assertEqual((per_user["matched"], per_user["allowed"], per_user["denied"]), (8, 6, 2))
        self.assertEqual(per_user["denied_most"], [{"key": "user=alice", "denied": 2}])
        # The second call of the third second would have been denied.
        self.assertTrue(burst["shadow"])
        self.assertEqual((burst["matched"], burst["denied"]), (8, 1))
        self.assertEqual(per_user["lacking"], 1)

    def test_the_text_says_it_in_tables(self):
        completed = self.simulate(TRACE)
        self.assertEqual(
            completed.stdout,
            """\
trace -: 11 calls, 2027-01-15T08:00:00Z to 2027-01-15T08:00:10Z

rules before.yaml
  allowed              8  72.73 %
    on the allow list  1   9.09 %
    no rule matched    1   9.09 %
  denied               3  27.27 %
    on the deny list   1   9.09 %

  rule            limit     matched  allowed  denied    share
  per_user        requests        8        6       2  25.00 %
  burst (shadow)  requests        8        7       1  12.50 %
  per_user: calls that lack an attribute of `per`: 1
  burst: denials are those that there would be
  burst: calls that lack an attribute of `per`: 1

denied most by per_user (keys denied in all: 1):
  2  user=alice

denied most by burst (shadow) (keys denied in all: 1):
  1  user=alice
""",
        )
        self.assertEqual(completed.stderr, "")

    def test_json_lines_give_the_same_as_csv(self):
        rows = [line.split(",") for line in TRACE.splitlines()[1:]]
        nested = "".join(
            json.dumps({"time": float(time), "attributes": {"user": user or None, "api_key": key}}) + "\n"
            for time, user, key in rows
        )
        flat = "".join(json.dumps({"time": time, "user": user, "api_key": key}) + "\n" for time, user, key in rows)
        expected = self.result(TRACE)
        self.assertEqual(self.result(nested), expected)
        self.assertEqual(self.result(flat), expected)

    def test_a_second_file_shows_the_difference(self):
        result = self.result(TRACE, "--against", "before.yaml", rules="after.yaml")
        # After: Alice has two in each window; the lists are empty.
        self.assertEqual((result["rules"]["allowed"], result["rules"]["denied"]), (7, 4))
        denied, allowed = (result["difference"][which] for which in ("newly_denied", "newly_allowed"))
        self.assertEqual([(e["line"], e["denied_by"]) for e in denied["examples"]],
                         [(4, "per_user (requests)"), (5, "per_user (requests)")])
        self.assertEqual(denied["examples"][0]["attributes"], {"user": "alice"})
        self.assertEqual([(e["line"], e["denied_by"]) for e in allowed["examples"]], [(8, "the deny list")])
        self.assertEqual((denied["calls"], allowed["calls"]), (2, 1))
        text = self.simulate(TRACE, "--against", "before.yaml", rules="after.yaml").stdout
        self.assertIn("difference: from before.yaml to after.yaml\n", text)
        self.assertRegex(text, r"(?m)^  allowed before, denied now: 2 \(18\.18 %\)$")
        self.assertRegex(text, r"(?m)^  everyone +- +11 +new +- +0 +new$")
        self.assertRegex(text, r"(?m)^  burst \(shadow\) +8 +- +gone +1 +- +gone$")
        self.assertRegex(text, r"(?m)^  per_user +8 +8 +=  +2 +4 +\+2$")

    def test_bad_rows_are_reported_and_left_out(self):
        completed = self.simulate(TRACE + "soon,alice,\n1800000011,bob\n1800000012,bob,\n", "--json")
        self.assertEqual(
            completed.stderr,
            "-:13: time: expected a date such as 2026-11-15T12:00:00Z or a number, found \"soon\"\n"
            "-:14: 2 values, but the header names 3 columns\n",
        )
        result = json.loads(completed.stdout)
        self.assertEqual((result["trace"]["calls"], result["trace"]["bad_rows"]), (12, 2))

    def test_only_the_first_bad_rows_are_reported_one_by_one(self):
        completed = self.simulate(TRACE + "bad\n" * 25)
        self.assertEqual(len(completed.stderr.splitlines()), 11)
        self.assertIn("15 more bad rows", completed.stderr)

    def test_rows_may_go_back_a_little_and_no_further(self):
        trace = "time,user\n10,a\n9.5,a\n8,a\n12,a\n"
        completed = self.simulate(trace, "--json")
        result = json.loads(completed.stdout)
        self.assertEqual((result["trace"]["calls"], result["trace"]["late_rows"]), (3, 1))
        self.assertEqual(
            completed.stderr,
            "-:4: goes back from 1970-01-01T00:00:10Z to 1970-01-01T00:00:08Z; sort the trace by time\n",
        )
        self.assertEqual(self.result(trace, "--tolerance", "5")["trace"]["late_rows"], 2)

    def test_numbers_may_be_given_a_unit(self):
        result = self.result("time,user\n5000,a\n", "--time-unit", "ms")
        self.assertEqual(result["trace"]["first"], "1970-01-01T00:00:05Z")

    def test_the_keys_denied_most_come_first(self):
        trace = "time,user\n" + "".join(f"1,u{i}\n" for i in range(20) for _ in range(4 + i))
        rule = self.result(trace, "--top", "2")["rules"]["rules"][0]
        self.assertEqual(
            rule["denied_most"], [{"key": "user=u19", "denied": 19}, {"key": "user=u18", "denied": 18}]
        )
        self.assertEqual(rule["denied_keys"], 19)

    def test_an_unreadable_trace_is_a_failure(self):
        for trace, reason in (
            ("user\nalice\n", "-:1: the header has no column `time`"),
            ("time,user\nsoon,alice\n", "there are no calls in it"),
            ("", "there are no calls in it"),
        ):
            completed = sluice("simulate", "--rules", "before.yaml", "--traffic", "-", stdin=trace)
            self.assertEqual((completed.returncode, completed.stdout), (1, ""))
            self.assertIn(reason, completed.stderr)
        completed = sluice("simulate", "--rules", "before.yaml", "--traffic", "missing.csv")
        self.assertEqual((completed.returncode, completed.stdout), (1, ""))
        self.assertEqual(completed.stderr, "missing.csv: No such file or directory\n")

    def test_progress_is_shown_when_asked_for_and_only_on_standard_error(self):
        trace = "time,user\n" + "1,a\n" * 5000
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
            file.write(trace)
            file.flush()
            loud = sluice("simulate", "--rules", "before.yaml", "--traffic", file.name, "--progress")
            quiet = sluice("simulate", "--rules", "before.yaml", "--traffic", file.name)
        self.assertRegex(loud.stderr, r"\[[=> ]{30}\] +\d+ %  \d+ calls, \d+/s")
        self.assertEqual((loud.stdout, quiet.stderr), (quiet.stdout, ""))


class ImportEnvoy(unittest.TestCase):
    def test_what_it_prints_is_a_good_rule_file(self):
        completed = sluice("import-envoy", "envoy")
        self.assertEqual(completed.returncode, 0)
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(completed.stdout)
            file.flush()
            checked = sluice("check-config", file.name)
            self.assertEqual((checked.returncode, checked.stderr), (0, ""))
            asked = sluice("explain", "--rules", file.name, "--attr", "domain=edge", "--attr", "remote_address=::1")
        self.assertIn("rule edge.remote_address (line 3): matched", asked.stdout)

    def test_errors_are_reported(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "a.yaml").write_text("domain: d\ndescriptors: [{ value: v }]\n", encoding="utf-8")
            completed = sluice("import-envoy", folder)
        self.assertEqual((completed.returncode, completed.stdout), (1, ""))
        self.assertRegex(completed.stderr, r"a\.yaml:2:15: descriptors\[0\]: needs a `key`")
        completed = sluice("import-envoy", "/nonexistent")
        self.assertEqual((completed.returncode, completed.stdout), (1, ""))
        self.assertIn("can't be read", completed.stderr)


class Help(unittest.TestCase):
    def test_every_command_shows_an_example(self):
        for command in ("demo", "check-config", "explain", "simulate"):
            completed = sluice(command, "--help")
            self.assertEqual(completed.returncode, 0)
            self.assertRegex(completed.stdout, rf"(?m)^Example:\n  sluice {command}")
            self.assertIn(command, sluice("--help").stdout)

    def test_what_is_missing_is_named(self):
        for command, what in (("check-config", "FILE"), ("explain", "--rules"), ("simulate", "--traffic")):
            arguments = ("--rules", "before.yaml") if command == "simulate" else ()
            completed = sluice(command, *arguments)
            self.assertEqual((completed.returncode, completed.stdout), (2, ""))
            self.assertIn(what, completed.stderr)
            self.assertIn(f"sluice {command} --help", completed.stderr)


class ConvertLog(unittest.TestCase):
    LINE = '192.0.2.1 - - [15/Nov/2026:12:00:00 +0000] "GET /a HTTP/1.1" 200 1 "-" "-"\n'

    def test_a_log_from_standard_input_is_a_trace_for_simulate(self):
        converted = sluice("convert-log", "-", stdin=self.LINE * 3)
        self.assertEqual((converted.returncode, converted.stderr), (0, "-: calls: 3, bad lines left out: 0\n"))
        with tempfile.TemporaryDirectory() as folder:
            rules = Path(folder) / "rules.yaml"
            rules.write_text("rules: [{ id: a, per: ip, limit: 2/m }]\n", encoding="utf-8")
            replayed = sluice("simulate", "--rules", str(rules), "--traffic", "-", "--json", stdin=converted.stdout)
        self.assertEqual(replayed.returncode, 0, replayed.stderr)
        report = json.loads(replayed.stdout)
        self.assertEqual((report["rules"]["allowed"], report["rules"]["denied"]), (2, 1))

    def test_bad_and_huge_lines_are_counted_and_left_out(self):
        log = self.LINE + "nonsense\n" * 20 + "x" * 1_000_000 + "\n\n" + self.LINE.rstrip("\n")
        converted = sluice("convert-log", "-", stdin=log)
        self.assertEqual(converted.returncode, 0)
        self.assertEqual(len(converted.stdout.splitlines()), 3)
        reported = converted.stderr.splitlines()
        self.assertEqual(len(reported), 11)
        self.assertEqual(reported[0], "-:2: not a line of an access log")
        self.assertEqual(reported[-1], "-: calls: 2, bad lines left out: 21")

    def test_a_log_without_calls_is_an_error(self):
        for arguments, stdin, said in (
            (("-",), "", "-: calls: 0, bad lines left out: 0\n"),
            (("missing.log",), None, "missing.log: No such file or directory\n"),
        ):
            converted = sluice("convert-log", *arguments, stdin=stdin)
            self.assertEqual((converted.returncode, converted.stdout, converted.stderr), (1, "", said))

    def test_the_example_can_be_tried(self):
        folder = ROOT / "examples/simulate"
        trace = sluice("convert-log", str(folder / "access.log"))
        self.assertEqual(trace.returncode, 0, trace.stderr)
        for rules, against, traffic, stdin in (
            ("stricter.yaml", "today.yaml", str(folder / "calls.csv"), None),
            ("by_address.yaml", "by_address.yaml", "-", trace.stdout),
        ):
            completed = sluice(
                "simulate", "--json", "--rules", str(folder / rules), "--against", str(folder / against),
                "--traffic", traffic, stdin=stdin,
            )
            self.assertEqual(completed.returncode, 0, completed.stderr)
            report = json.loads(completed.stdout)
            self.assertGreater(report["rules"]["denied"], 0)


class Documents(unittest.TestCase):
    """What docs/commands.md shows after `$ sluice …` is what the command prints."""

    def test_the_examples_print_what_the_document_says(self):
        text = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        shown = 0
        for block in blocks:
            for command, output in re.findall(r"^\$ sluice (.*?)\n(.*?)(?=^\$ |\Z)", block, re.MULTILINE | re.DOTALL):
                completed = sluice(*command.split())
                self.assertEqual(completed.stderr + completed.stdout, output, command)
                shown += 1
        self.assertGreaterEqual(shown, 4)


if __name__ == "__main__":
    unittest.main()
