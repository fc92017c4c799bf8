// Talks to the servers whose ports are given as ioredis does, and fails if an answer is not as it should be.
// Usage: node ioredis_client.js <open port> <port with a token> <token>
// On the line "restarted" of its input, the open server has been away and is back.

"use strict";

const assert = require("node:assert/strict");
const readline = require("node:readline");
const Redis = require("ioredis");

const [openPort, guardedPort, token] = process.argv.slice(2);

// Ready only after ioredis' own check, which asks INFO whether the server is still loading.
function connect(port, options) {
  const client = new Redis(Number(port), "127.0.0.1", { retryStrategy: () => 50, ...options });
  client.on("error", () => {}); // It tries again; who waits for an answer hears of it.
  return client;
}

async function asksLimits() {
  const client = connect(openPort, { connectionName: "shop", db: 0 });
  assert.equal(await client.ping(), "PONG");
  assert.equal(await client.client("GETNAME"), "shop");
  assert.match(await client.info(), /redis_version:/);
  assert.equal((await client.call("HELLO", "2")).length, 14);
  assert.equal(await client.client("SETINFO", "LIB-NAME", "ioredis"), "OK");
  assert.deepEqual(await client.call("CL.THROTTLE", "user", 1, 1, 3600), [0, 2, 1, -1, 3600]);
  assert.deepEqual((await client.call("SLUICE.CHECK", "api_key", "demo-key")).slice(0, 3), [1, 100, 99]);
  assert.deepEqual((await client.call("SLUICE.PEEK", "api_key", "demo-key")).slice(0, 3), [1, 100, 99]);
  assert.equal(await client.call("SLUICE.RESET", "api_key", "demo-key"), 1);
  assert.equal(await client.del("user"), 1);
  await assert.rejects(client.call("CL.THROTTLE", "user", "x", 1, 60), /max_burst/);
  await client.quit();
}

async function pipelines() {
  const client = connect(openPort, { enableAutoPipelining: true });
  const pipeline = client.pipeline();
  for (let i = 0; i < 1000; ++i) pipeline.call("CL.THROTTLE", "pipelined", 1999, 1, 1200);
  const replies = await pipeline.exec();
  replies.forEach(([error, reply], i) => assert.deepEqual([error, reply[2]], [null, 1999 - i]));
  const echoes = await Promise.all(Array.from({ length: 1000 }, (_, i) => client.echo(String(i))));
  echoes.forEach((echo, i) => assert.equal(echo, String(i)));
  await client.quit();
}

async function logsIn() {
  const right = connect(guardedPort, { password: token });
  assert.equal(await right.del("user"), 0);
  await right.quit();
  const wrong = connect(guardedPort, { password: "guess", retryStrategy: null });
  await assert.rejects(wrong.del("user"));
  wrong.disconnect();
}

async function comesBack(restarted) {
  const client = connect(openPort, { maxRetriesPerRequest: null });
  assert.equal((await client.call("CL.THROTTLE", "restart", 1, 1, 3600))[2], 1);
  console.log("connected");
  await restarted;
  assert.equal((await client.call("CL.THROTTLE", "restart", 1, 1, 3600))[2], 1);
  await client.quit();
}

async function main() {
  const input = readline.createInterface({ input: process.stdin });
  const restarted = new Promise((resolve) => input.once("line", resolve));
  await asksLimits();
  await pipelines();
  await logsIn();
  await comesBack(restarted);
  input.close();
  console.log("done");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
