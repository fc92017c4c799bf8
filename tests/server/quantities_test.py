"""Checks with quantities and their settlement on real stores, judged by a model that adds up fractions."""

import functools
import json
import os
import random
import subprocess
import sys
import threading
import unittest
from fractions import Fraction
from pathlib import Path

from support.environment import TIMEOUT, run_in_parallel, scaled, wait_until
from support.redis_servers import Cluster, RedisServer
from support.sluice import ServerTest

# Windows that begin with the first call and outlast the test, so that time plays no part.
RULES = """
models:
  small: { input: 0.5, cached: 0.05, output: 2 }
  large: { input: 1.25, cached: 0.125, output: 10.001, above: { 300: { input: 2.5, cached: 1, output: 15 } } }
defaults: { algorithm: fixed_window, anchor: first_hit, window: 30000d }
rules:
  - id: team
    per: [tenant]
    limits:
      calls: { limit: 60 }
      output: { limit: 4000, type: output_tokens }
      weighted: { limit: 3000, count: { input_tokens: 1/3, cached_tokens: 0.1, output_tokens: 2 } }
      parallel: { algorithm: concurrency, limit: 4, ttl: 1d }
  - id: all
    per: []
    limits:
      money: { limit: 0.02 USD, algorithm: fixed_window }
"""
# No limit on parallel calls: clients that are killed hold their slots.
CRASH_RULES = """
models: {{ small: {{ input: 0.5, cached: 0.05, output: 2 }} }}
defaults: {{ algorithm: fixed_window, anchor: first_hit, window: 30000d, consistency: {consistency} }}
rules:
  - id: team
    per: [tenant]
    limits:
      calls: {{ limit: 10000 }}
      output: {{ limit: {tokens}, type: output_tokens }}
  - {{ id: all, per: [], limits: {{ money: {{ limit: 1000 USD, algorithm: fixed_window }} }} }}
"""
CLIENT = Path(__file__).with_name("quantity_client.py")
BUDGETS = {"calls": 60, "output": 4000, "weighted": 3000, "money": 20_000_000}


def costs_of(use, model):
    """What a call costs each limit, in its unit."""
    tokens = [use[name] for name in ("input_tokens", "cached_tokens", "output_tokens")]
    if model == "small":
        prices = (500, 50, 2000)
    elif tokens[0] + tokens[1] > 300:
        prices = (2500, 1000, 15000)
    else:
        prices = (1250, 125, 10001)
    return {
        "calls": Fraction(1),
        "output": Fraction(tokens[2]),
        "weighted": Fraction(tokens[0], 3) + Fraction(tokens[1], 10) + 2 * tokens[2],
        "money": Fraction(sum(price * count for price, count in zip(prices, tokens))),
    }


def post(server, operation, body):
    response = server.request("POST", f"/api/v1/rate-limit/{operation}", body)
    return response.status, response.json()


def check(server, use, model="small", tenant="t"):
    attributes = {"api_key": "a", "tenant": tenant, "model": model}
    return post(server, "check", {"attributes": attributes, "use": use})


def settle(server, receipt, use, **more):
    return post(server, "settle", {"receipt": receipt, "use": use, **more})


def left(server, tenant="t"):
    limits = server.request("GET", f"/api/v1/rate-limit/remaining?key=a&tenant={tenant}&model=small").json()["limits"]
    return {limit["name"]: limit["remaining"] for limit in limits}


def passed(server, use, model):
    """The answer to a check that passes, else None."""
    status, answer = check(server, use, model)
    return (status, answer) if status == 200 else None


class Held:
    """A call that was let in."""

    def __init__(self, receipt, model, reserved, charged):
        self.receipt, self.model, self.reserved, self.charged = receipt, model, reserved, charged
        self.settled = False


class Model:
    def __init__(self):
        self.used = {name: Fraction(0) for name in BUDGETS}
        self.running = 0

    def left(self, name):
        return BUDGETS[name] - self.used[name]

    def admits(self, costs):
        fits = all(cost <= self.left(name) if cost else self.left(name) > 0 for name, cost in costs.items())
        return fits and self.running < 4

    def charge(self, held, costs):
        for name, cost in costs.items():
            self.used[name] += cost - held.charged.get(name, 0)
        held.charged = costs

    def shown(self):
        return {name: int(max(self.left(name), 0)) for name in BUDGETS} | {"parallel": 4 - self.running}


class QuantitiesTest(ServerTest):
    def start(self, rules=RULES, **options):
        secret = self.folder / "secret"
        secret.write_text("of all servers, and long enough\n", encoding="utf-8")
        return self.serve("--receipts-secret-file", secret, rules=rules, **options)

    def random_use(self, choices):
        return {
            "input_tokens": choices.randrange(600 if choices.random() < 0.25 else 100),
            "cached_tokens": choices.choice((0, choices.randrange(300))),
            "output_tokens": choices.randrange(200),
        }

    def run_against_model(self, servers):
        seed = int(os.environ.get("SLUICE_SEED", random.randrange(10**9)))
        print(f"seed {seed}")
        choices = random.Random(seed)
        model, calls = Model(), []
        for _ in range(scaled(400)):
            server = choices.choice(servers)
            if not calls or choices.random() < 0.5:
                name, use = choices.choice(("small", "large")), self.random_use(choices)
                costs = costs_of(use, name)
                status, answer = check(server, use, name)
                if status == 429 and model.admits(costs):
                    # The server remembers a denial, and has not heard yet that another one has given something back.
                    status, answer = wait_until(functools.partial(passed, server, use, name))
                self.assertEqual(status, 200 if model.admits(costs) else 429, answer)
                if status == 200:
                    calls.append(Held(answer["receipt"], name, use, {}))
                    model.charge(calls[-1], costs)
                    model.running += 1
            else:
                self.settle_at_random(choices, server, model, choices.choice(calls))
            self.assertEqual(left(choices.choice(servers)), model.shown())

    def settle_at_random(self, choices, server, model, held):
        sent = {name: amount for name, amount in self.random_use(choices).items() if choices.random() < 0.7}
        costs = costs_of(held.reserved | sent, held.model)
        partial = choices.random() < 0.3
        status, answer = settle(server, held.receipt, sent, partial=partial)
        if held.settled:
            self.assertEqual(status, 200 if not partial and costs == held.charged else 409, answer)
            return
        self.assertEqual(status, 200, answer)
        if partial:
            raised = {name: max(cost, held.charged[name]) for name, cost in costs.items()}
            stop = any(
                cost >= held.charged[name] and model.left(name) + held.charged[name] - cost <= 0
                for name, cost in costs.items()
            )
            self.assertEqual(answer["stop"], stop)
            model.charge(held, raised)
        else:
            self.assertEqual(answer["released"], 1)
            held.settled = True
            model.running -= 1
            model.charge(held, costs)

    def test_random_calls_in_memory(self):
        self.run_against_model([self.start()])

    def test_random_calls_of_two_servers_at_one_redis(self):
        redis = self.enterContext(RedisServer())
        self.run_against_model([self.start(store=redis.url), self.start(store=redis.url)])

    def test_random_calls_of_two_servers_at_a_cluster(self):
        cluster = self.enterContext(Cluster())
        self.run_against_model([self.start(store=cluster.url), self.start(store=cluster.url)])

    def test_one_of_two_settlements_at_the_same_time_stands(self):
        redis = self.enterContext(RedisServer())
        servers = [self.start(store=redis.url), self.start(store=redis.url)]
        for _ in range(scaled(30)):
            before = left(servers[0])
            _, answer = check(servers[0], {"input_tokens": 0, "cached_tokens": 0, "output_tokens": 50})
            barrier = threading.Barrier(4)

            def run(server, tokens, receipt=answer["receipt"], barrier=barrier):
                barrier.wait()
                return settle(server, receipt, {"output_tokens": tokens})[0], tokens

            results = run_in_parallel(run, *((servers[i % 2], 10 + i) for i in range(4)))
            winners = [tokens for status, tokens in results if status == 200]
            self.assertEqual(len(winners), 1, results)
            after = left(servers[1])
            self.assertEqual(before["output"] - after["output"], winners[0])
            self.assertEqual(before["money"] - after["money"], 2000 * winners[0])
            self.assertEqual(after["parallel"], 4)

    def start_client(self, number, servers, seed):
        journal = self.folder / f"journal-{number}"
        journal.touch()
        command = [sys.executable, "-B", CLIENT, journal, str(seed + number), str(scaled(30)), f"t{number % 4}"]
        process = subprocess.Popen([*command, *(str(server.http) for server in servers)])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, journal

    def run_with_crashes(self, store, tokens, consistency="exact"):
        """Four servers, of which two are killed, and sixteen clients, of which four are killed. Returns for each tenant
        what the clients know to have used, and what may or may not have been reserved in addition."""
        seed = int(os.environ.get("SLUICE_SEED", random.randrange(10**9)))
        print(f"seed {seed}")
        rules = CRASH_RULES.format(tokens=tokens, consistency=consistency)
        self.servers = [self.start(store=store.url, rules=rules) for _ in range(4)]
        clients = [self.start_client(number, self.servers, seed) for number in range(16)]
        journals = [journal for _, journal in clients]

        def lines():
            return sum(len(journal.read_text().splitlines()) for journal in journals)

        def kill(victim):
            before = lines()
            wait_until(lambda: lines() >= before + 40 or all(client.poll() is not None for client, _ in clients))
            victim.kill()

        for number in range(4):
            kill(clients[4 * number + number][0])
            if number < 2:
                kill(self.servers[number])
        for client, _ in clients:
            client.wait(TIMEOUT)
        used, unknown = {}, {}
        for number, journal in enumerate(journals):
            tenant = f"t{number % 4}"
            calls = {}
            for line in map(json.loads, journal.read_text().splitlines()):
                self.assertNotIn("failed", line["step"])
                calls[line["call"]] = line
            for line in calls.values():
                if line["step"] == "settling":  # Again, at a server that lives: whether or not it was done before.
                    status, answer = settle(self.servers[3], line["receipt"], {"output_tokens": line["tokens"]})
                    self.assertEqual(status, 200, answer)
                bucket = unknown if line["step"] == "reserving" else used
                bucket.setdefault(tenant, []).append((int(line["step"] != "denied"), line["tokens"]))
        return used, unknown

    def assert_exact(self, used, unknown, tokens, together=True):
        """Each budget has lost what was used, and of the unknown calls each wholly or not at all. `together`: in all budgets
        or in none; in several slots of a Cluster, a server may be killed after the first."""
        money, moneys = 0, {0}
        for tenant in (f"t{number}" for number in range(4)):
            sums = {(sum(calls for calls, _ in used[tenant]), sum(tokens for _, tokens in used[tenant]))}
            for calls, more in unknown.get(tenant, []):
                sums |= {(known + calls, total + more) for known, total in sums}
            shown = left(self.servers[3], tenant=tenant)
            found = (10_000 - shown["calls"], tokens - shown["output"])
            self.assertIn(found, sums, f"{tenant}: {shown}")
            self.assertGreaterEqual(shown["output"], 0)
            money += 2000 * found[1]
            moneys = {before + 2000 * total for before in moneys for _, total in sums}
        self.assertIn(10**12 - left(self.servers[3])["money"], {money} if together else moneys)

    def test_crashes_at_redis(self):
        redis = self.enterContext(RedisServer())
        self.assert_exact(*self.run_with_crashes(redis, 100_000), 100_000)

    def test_crashes_at_redis_with_less_than_is_asked_for(self):
        redis = self.enterContext(RedisServer())
        self.assert_exact(*self.run_with_crashes(redis, 500), 500)

    def test_crashes_at_a_cluster(self):
        cluster = self.enterContext(Cluster())
        self.assert_exact(*self.run_with_crashes(cluster, 100_000), 100_000, together=False)

    def run_leased_with_crashes(self, store):
        """Tokens that a killed server had leased may be lost until the window ends, but none is used twice."""
        used, _ = self.run_with_crashes(store, 2000, "leased")
        for tenant, calls in used.items():
            spent = sum(tokens for _, tokens in calls)
            self.assertLessEqual(spent, 2000)
            self.assertLessEqual(left(self.servers[3], tenant=tenant)["output"], 2000 - spent)

    def test_crashes_with_leases_at_redis(self):
        self.run_leased_with_crashes(self.enterContext(RedisServer()))

    def test_crashes_with_leases_at_a_cluster(self):
        self.run_leased_with_crashes(self.enterContext(Cluster()))

    def test_leased_budgets_are_exact_once_idle_tokens_are_returned(self):
        redis = self.enterContext(RedisServer())
        servers = [self.start(store=redis.url, rules=CRASH_RULES.format(tokens=100_000, consistency="leased")) for _ in range(4)]

        def call(number):
            choices = random.Random(number)
            spent = 0
            for _ in range(scaled(40)):
                use = {"input_tokens": 0, "cached_tokens": 0, "output_tokens": choices.randrange(1, 60)}
                _, answer = check(choices.choice(servers), use)
                real = choices.randrange(60)
                status, result = settle(choices.choice(servers), answer["receipt"], {"output_tokens": real})
                self.assertEqual(status, 200, result)
                spent += real
            return spent

        spent = sum(run_in_parallel(call, *((number,) for number in range(8))))
        last = self.start(store=redis.url, rules=CRASH_RULES.format(tokens=100_000, consistency="exact"))
        expected = {"calls": 10_000 - 8 * scaled(40), "output": 100_000 - spent, "money": 10**12 - 2000 * spent}
        wait_until(lambda: left(last) == expected, lambda: f"{left(last)} is not {expected}")


if __name__ == "__main__":
    unittest.main()
