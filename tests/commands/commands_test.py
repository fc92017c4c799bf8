"""Runs check-config, explain and simulate of the binary named by SLUICE, as an operator would."""

import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

FILES = Path(__file__).resolve().parent / "files"
ROOT = Path(os.environ["SOURCE_DIR"])


def sluice(*arguments, stdin=None, cwd=FILES):
    return subprocess.run(
        [os.environ["SLUICE"], *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=cwd,
    )


class CheckConfig(unittest.TestCase):
    def test_good_files_are_summed_up(self):
        told = sluice("check-config", "keys_and_tiers.yaml", "rate_limits.yaml")
        self.assertEqual(
            (told.returncode, told.stdout, told.stderr),
            (
                0,
                "keys_and_tiers.yaml: good: 2 rules with 2 limits and 1 override, "
                "2 on the allow list, 2 on the deny list\n"
                "rate_limits.yaml: good: 3 rules with 3 limits\n",
                "",
            ),
        )

    def test_all_mistakes_of_all_files_are_told(self):
        told = sluice("check-config", "bad.yaml", "rate_limits.yaml", "missing.yaml")
        self.assertEqual(told.returncode, 1)
        self.assertEqual(told.stdout, "rate_limits.yaml: good: 3 rules with 3 limits\n")
        self.assertRegex(told.stderr, r"(?m)^bad\.yaml:3:5: rules\[0\]\.limt: .*did you mean `limit`")
        self.assertRegex(told.stderr, r"(?m)^bad\.yaml:6:16: rules\[1\]\.algorithm: .*token_bucket")
        self.assertRegex(told.stderr, r"(?m)^bad\.yaml:5:\d+: rules\[1\]\.id: .*orders")
        self.assertRegex(told.stderr, r"(?m)^missing\.yaml: .*No such file")

    def test_json_tells_the_same(self):
        told = sluice("check-config", "--json", "bad.yaml", "rate_limits.yaml")
        self.assertEqual((told.returncode, told.stderr), (1, ""))
        bad, good = json.loads(told.stdout)
        self.assertEqual((bad["file"], bad["good"]), ("bad.yaml", False))
        self.assertIn(
            (3, 5, "rules[0].limt"), [(m["line"], m["column"], m["field"]) for m in bad["mistakes"]]
        )
        self.assertEqual((good["file"], good["good"], good["mistakes"]), ("rate_limits.yaml", True, []))


class Explain(unittest.TestCase):
    def explain(self, file, *attributes, cost=None):
        arguments = [part for attribute in attributes for part in ("--attr", attribute)]
        if cost is not None:
            arguments += ["--cost", str(cost)]
        told = sluice("explain", "--rules", file, "--json", *arguments)
        self.assertEqual(told.returncode, 0, told.stderr)
        return json.loads(told.stdout)

    def met(self, explained):
        return {rule["id"]: rule for rule in explained["rules"] if rule["outcome"] == "met"}

    def settings(self, limit):
        return {s["field"]: (s["value"], s["level"]) for s in limit["settings"]}

    def test_an_override_wins_over_its_rule(self):
        explained = self.explain(
            "keys_and_tiers.yaml", "api_key=sk_prod_vip_001", "endpoint=/v1/orders/7"
        )
        rule = self.met(explained)["rule_001"]
        self.assertEqual((rule["override"], rule["tier"]), ("sk_prod_vip_001", "pro"))
        (limit,) = rule["limits"]
        self.assertEqual(limit["text"], "1000 at once, then 16.67 per second")
        settings = self.settings(limit)
        self.assertEqual(settings["capacity"], ("1000", "override"))
        self.assertEqual(settings["refill_rate"], ("16.67", "override"))
        self.assertEqual(settings["algorithm"], ("token_bucket", "rule"))

    def test_a_key_without_override_has_the_numbers_of_the_rule(self):
        explained = self.explain("keys_and_tiers.yaml", "api_key=sk_prod_2", "endpoint=/v1/orders/7")
        (limit,) = self.met(explained)["rule_001"]["limits"]
        self.assertEqual(limit["text"], "100 at once, then 1.67 per second")
        self.assertEqual(limit["key"], "{sk_prod_2}:rule_001:requests:")

    def test_a_free_key_has_100_per_60_seconds_on_anything(self):
        for endpoint in ("/v1/orders/7", "/anything", "/"):
            explained = self.explain("keys_and_tiers.yaml", "api_key=sk_free_x", f"endpoint={endpoint}")
            self.assertEqual(list(self.met(explained)), ["rule_002"])
            (limit,) = self.met(explained)["rule_002"]["limits"]
            self.assertEqual(limit["algorithm"], "sliding_window_counter")
            self.assertEqual(limit["text"], "about 100 in any 1m")

    def test_lists_are_looked_at_before_rules(self):
        internal = self.explain("keys_and_tiers.yaml", "api_key=sk_internal_7", "endpoint=/v1/orders/7")
        self.assertEqual(internal["listed"], {"list": "allow", "entry": "sk_internal_*", "line": 26})
        self.assertEqual((internal["rules"], internal["conclusion"]), ([], "allowed by the allow list"))
        revoked = self.explain("keys_and_tiers.yaml", "api_key=sk_revoked_7")
        self.assertEqual(revoked["listed"], {"list": "deny", "entry": "sk_revoked_*", "line": 27})
        self.assertEqual(revoked["conclusion"], "denied by the deny list")

    def test_a_rule_that_is_not_met_says_why_not(self):
        explained = self.explain("keys_and_tiers.yaml", "api_key=sk_prod_2", "endpoint=/v2/users")
        self.assertEqual(self.met(explained), {})
        self.assertEqual([rule["outcome"] for rule in explained["rules"]], ["condition_fails"] * 2)
        self.assertIn("/v2/users", explained["rules"][0]["why_not"])
        self.assertEqual(explained["conclusion"], "allowed: no rule is met")

    def test_the_scopes_of_the_second_form_are_attributes(self):
        explained = self.explain("rate_limits.yaml", "user=alice", "ip=192.0.2.7", cost=3)
        rules = self.met(explained)
        self.assertEqual(list(rules), ["api_global", "api_per_user", "login_attempts"])
        limits = {name: rule["limits"][0] for name, rule in rules.items()}
        self.assertEqual(limits["api_global"]["text"], "10000 at once, then 100 per second, every 1s")
        self.assertEqual(limits["api_per_user"]["text"], "1500 at once, then 10 per second, every 1s")
        self.assertEqual(limits["login_attempts"]["text"], "5 at once, then 1 per minute, every 1m")
        self.assertEqual(limits["api_per_user"]["key"], "{alice}:api_per_user:requests:")
        self.assertEqual({limit["cost"] for limit in limits.values()}, {3})

    def test_a_cost_of_nothing_is_refused(self):
        told = sluice("explain", "--rules", "rate_limits.yaml", "--attr", "user=alice", "--cost", "0")
        self.assertEqual(told.returncode, 2)
        self.assertIn("--cost: Value 0 not in range 1 to ", told.stderr)

    def test_a_call_that_lacks_an_attribute_of_the_budget_does_not_meet_the_rule(self):
        explained = self.explain("rate_limits.yaml", "ip=192.0.2.7")
        outcomes = {rule["id"]: rule["outcome"] for rule in explained["rules"]}
        self.assertEqual(outcomes["api_per_user"], "lacks_attribute")

    def test_a_bad_rule_file_is_told(self):
        told = sluice("explain", "--rules", "bad.yaml", "--attr", "api_key=x")
        self.assertEqual((told.returncode, told.stdout), (1, ""))
        self.assertIn("bad.yaml:3:5:", told.stderr)

    def test_an_attribute_without_a_name_is_refused(self):
        for attribute in ("api_key", "=x"):
            told = sluice("explain", "--rules", "keys_and_tiers.yaml", "--attr", attribute)
            self.assertEqual((told.returncode, told.stdout), (2, ""))
            self.assertIn("expected name=value", told.stderr)

    def test_a_value_may_hold_anything(self):
        explained = self.explain("rate_limits.yaml", "user=a=b, \"c\"", "endpoint=/x?y=[1,2]")
        self.assertEqual(explained["call"]["attributes"][0], {"name": "user", "value": 'a=b, "c"'})


# Two users. Alice calls 6 times in the first ten seconds (twice in the third), once in the next ten;
# Bob calls once; somebody is on the deny list, somebody on the allow list, somebody is nobody.
TRACE = (FILES / "calls.csv").read_text(encoding="utf-8")


class Simulate(unittest.TestCase):
    def simulate(self, trace, *arguments, rules="before.yaml"):
        told = sluice("simulate", "--rules", rules, "--traffic", "-", *arguments, stdin=trace)
        self.assertEqual(told.returncode, 0, told.stderr)
        return told

    def result(self, trace, *arguments, **keywords):
        return json.loads(self.simulate(trace, "--json", *arguments, **keywords).stdout)

    def test_what_would_have_been_is_told_for_each_rule(self):
        result = self.result(TRACE)
        self.assertEqual(result["trace"]["calls"], 11)
        self.assertEqual(result["trace"]["first"], "2027-01-15T08:00:00Z")
        self.assertEqual(result["trace"]["last"], "2027-01-15T08:00:10Z")
        told = result["rules"]
        # Of Alice's six in the first window four pass.
        self.assertEqual((told["calls"], told["allowed"], told["denied"]), (11, 8, 3))
        self.assertEqual((told["on_allow_list"], told["on_deny_list"], told["no_rule"]), (1, 1, 1))
        per_user, burst = told["rules"]
        self.assertEqual((per_user["met"], per_user["allowed"], per_user["denied"]), (8, 6, 2))
        self.assertEqual(per_user["denied_most"], [{"key": "user=alice", "denied": 2}])
        # The second call of the third second would have been denied.
        self.assertTrue(burst["shadow"])
        self.assertEqual((burst["met"], burst["denied"]), (8, 1))
        self.assertEqual(per_user["lacking"], 1)

    def test_the_text_says_it_in_tables(self):
        told = self.simulate(TRACE)
        self.assertEqual(
            told.stdout,
            """\
trace -: 11 calls, 2027-01-15T08:00:00Z to 2027-01-15T08:00:10Z

rules before.yaml
  allowed              8  72.73 %
    on the allow list  1   9.09 %
    no rule met        1   9.09 %
  denied               3  27.27 %
    on the deny list   1   9.09 %

  rule            limit     met  allowed  denied    share
  per_user        requests    8        6       2  25.00 %
  burst (shadow)  requests    8        7       1  12.50 %
  per_user: calls that lack an attribute of `per`: 1
  burst: denials are those that there would be
  burst: calls that lack an attribute of `per`: 1

denied most by per_user (keys denied in all: 1):
  2  user=alice

denied most by burst (shadow) (keys denied in all: 1):
  1  user=alice
""",
        )
        self.assertEqual(told.stderr, "")

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
        # After: Alice has two in each window; nobody is on a list.
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

    def test_bad_rows_are_told_and_left_out(self):
        told = self.simulate(TRACE + "soon,alice,\n1800000011,bob\n1800000012,bob,\n", "--json")
        self.assertEqual(
            told.stderr,
            "-:13: time: expected a date such as 2026-11-15T12:00:00Z or a number, found \"soon\"\n"
            "-:14: 2 values, but the header names 3 columns\n",
        )
        result = json.loads(told.stdout)
        self.assertEqual((result["trace"]["calls"], result["trace"]["bad_rows"]), (12, 2))

    def test_only_the_first_bad_rows_are_told_one_by_one(self):
        told = self.simulate(TRACE + "bad\n" * 25)
        self.assertEqual(len(told.stderr.splitlines()), 11)
        self.assertIn("15 more bad rows", told.stderr)

    def test_rows_may_go_back_a_little_and_no_further(self):
        trace = "time,user\n10,a\n9.5,a\n8,a\n12,a\n"
        told = self.simulate(trace, "--json")
        result = json.loads(told.stdout)
        self.assertEqual((result["trace"]["calls"], result["trace"]["late_rows"]), (3, 1))
        self.assertEqual(
            told.stderr,
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
            told = sluice("simulate", "--rules", "before.yaml", "--traffic", "-", stdin=trace)
            self.assertEqual((told.returncode, told.stdout), (1, ""))
            self.assertIn(reason, told.stderr)
        told = sluice("simulate", "--rules", "before.yaml", "--traffic", "missing.csv")
        self.assertEqual((told.returncode, told.stdout), (1, ""))
        self.assertEqual(told.stderr, "missing.csv: No such file or directory\n")

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
        told = sluice("import-envoy", "envoy")
        self.assertEqual(told.returncode, 0)
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(told.stdout)
            file.flush()
            checked = sluice("check-config", file.name)
            self.assertEqual((checked.returncode, checked.stderr), (0, ""))
            asked = sluice("explain", "--rules", file.name, "--attr", "domain=edge", "--attr", "remote_address=::1")
        self.assertIn("rule edge.remote_address (line 2): met", asked.stdout)

    def test_mistakes_are_told(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "a.yaml").write_text("domain: d\ndescriptors: [{ value: v }]\n", encoding="utf-8")
            told = sluice("import-envoy", folder)
        self.assertEqual((told.returncode, told.stdout), (1, ""))
        self.assertRegex(told.stderr, r"a\.yaml:2:15: descriptors\[0\]: needs a `key`")
        told = sluice("import-envoy", "/nonexistent")
        self.assertEqual((told.returncode, told.stdout), (1, ""))
        self.assertIn("can't be read", told.stderr)


class Help(unittest.TestCase):
    def test_every_command_shows_an_example(self):
        for command in ("demo", "check-config", "explain", "simulate"):
            told = sluice(command, "--help")
            self.assertEqual(told.returncode, 0)
            self.assertRegex(told.stdout, rf"(?m)^Example:\n  sluice {command}")
            self.assertIn(command, sluice("--help").stdout)

    def test_what_is_missing_is_named(self):
        for command, what in (("check-config", "FILE"), ("explain", "--rules"), ("simulate", "--traffic")):
            arguments = ("--rules", "before.yaml") if command == "simulate" else ()
            told = sluice(command, *arguments)
            self.assertEqual((told.returncode, told.stdout), (2, ""))
            self.assertIn(what, told.stderr)
            self.assertIn(f"sluice {command} --help", told.stderr)


class Documents(unittest.TestCase):
    """What docs/commands.md shows after `$ sluice …` is what the command prints."""

    def test_the_examples_print_what_the_document_says(self):
        text = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        shown = 0
        for block in blocks:
            for command, output in re.findall(r"^\$ sluice (.*?)\n(.*?)(?=^\$ |\Z)", block, re.MULTILINE | re.DOTALL):
                told = sluice(*command.split())
                self.assertEqual(told.stderr + told.stdout, output, command)
                shown += 1
        self.assertGreaterEqual(shown, 4)


if __name__ == "__main__":
    unittest.main()
