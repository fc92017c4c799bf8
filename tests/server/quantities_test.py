"""Checks with quantities and their settlement on real stores, judged by a model that adds up fractions."""

import os
import random
import threading
import unittest
from fractions import Fraction

from support.environment import run_in_parallel, scaled
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
    def start(self, *flags, **options):
        secret = self.folder / "secret"
        secret.write_text("of all servers, and long enough\n", encoding="utf-8")
        return self.enterContext(self.serve("--receipts-secret-file", secret, *flags, rules=RULES, **options))

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

    def test_budgets_are_never_exceeded_and_end_exact_although_a_server_is_killed(self):
        redis = self.enterContext(RedisServer())
        servers = [self.start(store=redis.url) for _ in range(3)]
        victim = self.start(store=redis.url)
        lock, charged, admitted = threading.Lock(), [], []

        def call(number):
            choices = random.Random(number)
            tenant = f"t{number % 8}"
            for step in range(scaled(25)):
                reserved = choices.randrange(1, 60)
                use = {"input_tokens": 0, "cached_tokens": 0, "output_tokens": reserved}
                status, answer = check(servers[number % 3], use, tenant=tenant)
                if status != 200:
                    continue
                real = choices.randrange(reserved + 1)
                with lock:
                    admitted.append((tenant, reserved))
                if number == 0 and step == 5:
                    victim.kill()
                # The client gets no answer, and asks another server.
                try:
                    settle(victim, answer["receipt"], {"output_tokens": real})
                except OSError:
                    pass
                status, result = settle(servers[choices.randrange(3)], answer["receipt"], {"output_tokens": real})
                self.assertEqual(status, 200, result)
                with lock:
                    charged.append((tenant, real))

        run_in_parallel(call, *((number,) for number in range(16)))
        self.assertEqual(len(admitted), len(charged))
        for number in range(8):
            spent = [real for tenant, real in charged if tenant == f"t{number}"]
            shown = left(servers[0], tenant=f"t{number}")
            self.assertEqual(shown["output"], 4000 - sum(spent))
            self.assertEqual(shown["calls"], 60 - len(spent))
            self.assertEqual(shown["parallel"], 4)
        self.assertEqual(left(servers[0])["money"], 20_000_000 - 2000 * sum(real for _, real in charged))


if __name__ == "__main__":
    unittest.main()
