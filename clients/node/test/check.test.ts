import assert from "node:assert/strict";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { Client, bodyOf } from "../check.js";
import { FakeClient } from "../testing.js";

type Reply = { status: number; body: string; headers?: http.OutgoingHttpHeaders };

async function serve(reply: (body: string) => Reply, use: (url: string, sockets: Set<unknown>) => Promise<void>): Promise<void> {
  const sockets = new Set<unknown>();
  const server = http.createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      const { status, body: text, headers } = reply(body);
      response.writeHead(status, headers).end(text);
    });
  });
  server.on("connection", (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, sockets);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const long = { deadlineMs: 30_000, onFailure: "closed" as const };

test("thousands of checks share the connections", async () => {
  await serve(() => ({ status: 200, body: '{"allowed":true}' }), async (url, sockets) => {
    const client = new Client(url, { ...long, maxConnections: 8, maxWaiting: 5000 });
    const decisions = await Promise.all(Array.from({ length: 3000 }, () => client.check({})));
    assert.ok(decisions.every(({ allowed, failed }) => allowed && !failed));
    assert.ok(sockets.size <= 8, `${sockets.size} connections`);
    client.close();
  });
});

test("beyond the most that may wait checks fail at once", async () => {
  await serve(() => ({ status: 200, body: '{"allowed":true}' }), async (url) => {
    const client = new Client(url, { ...long, maxConnections: 1, maxWaiting: 10 });
    const decisions = await Promise.all(Array.from({ length: 500 }, () => client.check({})));
    assert.equal(decisions.filter(({ failed }) => failed).length, 489);
    client.close();
  });
});

test("attributes are only ever in the body", async () => {
  const bodies: string[] = [];
  const reply = (body: string) => (bodies.push(body), { status: 200, body: '{"allowed":true}' });
  await serve(reply, async (url) => {
    const client = new Client(url, long);
    await client.check({ api_key: 'a\r\nX-Evil: 1\r\n\r\n"}', ip: undefined }, 2);
    const attributes = { api_key: 'a\r\nX-Evil: 1\r\n\r\n"}' };
    assert.deepEqual(JSON.parse(bodies[0] ?? ""), { attributes, cost: 2, receipt: false });
    client.close();
  });
});

test("replies that decide nothing are failures, invalid calls are denials", async () => {
  let next: Reply = { status: 200, body: "" };
  await serve(() => next, async (url) => {
    const errors: Error[] = [];
    const client = new Client(url, { ...long, onError: (error) => errors.push(error) });
    for (const [status, body] of [[500, "{}"], [401, "{}"], [302, '{"allowed":true}'], [200, "null"], [200, '{"allowed":1}'], [400, "null"], [400, "7"], [400, "<html>"]] as const) {
      next = { status, body };
      const { allowed, failed, status: shown } = await client.check({});
      assert.deepEqual([allowed, failed, shown], [false, true, 503], `${status} ${body}`);
    }
    assert.equal(errors.length, 8);
    next = { status: 400, body: '{"code":"INVALID_KEY","detail":"too long"}' };
    const invalid = await client.check({});
    assert.deepEqual([invalid.failed, invalid.status, invalid.message], [false, 400, "too long"]);
    next = { status: 429, body: '{"allowed":false,"code":"C","message":"m","denialId":"d"}', headers: { "Retry-After": 7, "Set-Cookie": "a" } };
    const denied = await client.check({});
    assert.deepEqual(denied.headers, [["Retry-After", "7"]]);
    assert.deepEqual(JSON.parse(bodyOf(denied)), { error: { code: "C", message: "m", denial_id: "d" } });
    client.close();
  });
});

test("no value of a hostile reply is long", async () => {
  let next: Reply = { status: 429, body: JSON.stringify({ allowed: false, code: ["x"], message: "m".repeat(5000) }) };
  await serve(() => next, async (url) => {
    const client = new Client(url, long);
    const { code, message } = await client.check({});
    assert.deepEqual([code, message.length], ["", 1024]);
    next = { status: 200, body: '{"allowed":true,"delayMs":1e308}', headers: { RateLimit: "r".repeat(2000) } };
    const { delayMs, headers } = await client.check({});
    assert.deepEqual([delayMs, headers], [86_400_000, []]);
    client.close();
  });
});

test("attributes that are too long are denied without a server", async () => {
  const { allowed, status, failed } = await new Client("http://127.0.0.1:1").check({ user: "k".repeat(70_000) });
  assert.deepEqual([allowed, status, failed], [false, 400, false]);
});

test("wrong options are refused at once", () => {
  assert.throws(() => new Client("ftp://x"));
  assert.throws(() => new Client("nonsense"));
  assert.throws(() => new Client("http://x", { deadlineMs: 0 }));
  assert.throws(() => new Client("http://x", { token: "a\r\nb" }));
  assert.throws(() => new Client("redis://:secret@x"), (error: Error) => !error.message.includes("secret"));
  assert.throws(() => new Client("http://x", { onFailure: "ajar" as "open" }));
});

test("the fake counts by key and by address and notes its calls", async () => {
  const fake = new FakeClient(1);
  const statuses = [];
  for (const api_key of ["a", "a", "b", undefined, undefined]) statuses.push((await fake.check({ api_key, ip: "::1" })).status);
  assert.deepEqual(statuses, [200, 429, 200, 200, 429]);
  assert.deepEqual(fake.calls[0], { attributes: { api_key: "a", ip: "::1" }, cost: 1 });
});
