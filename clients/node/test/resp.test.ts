import assert from "node:assert/strict";
import net from "node:net";
import { test } from "node:test";
import { Connection, type Reply, encode, readReply } from "../resp.js";

type Respond = (socket: net.Socket, data: Buffer) => void;

/** A server that answers as the test says, and counts its connections. */
async function serve(respond: Respond, use: (url: string, accepted: net.Socket[]) => Promise<void>): Promise<void> {
  const accepted: net.Socket[] = [];
  const server = net.createServer((socket) => {
    accepted.push(socket);
    socket.on("data", (data) => respond(socket, data as Buffer));
    socket.on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await use(`sluice://127.0.0.1:${(server.address() as net.AddressInfo).port}`, accepted);
  } finally {
    for (const socket of accepted) socket.destroy();
    server.close();
  }
}

const commandsIn = (data: Buffer): number => data.toString("latin1").split("PING").length - 1;

test("replies are read at every split", () => {
  const cases: [string, Reply][] = [
    ["*2\r\n:5\r\n:1\r\n", [5, 1]],
    [":-2\r\n", -2],
    ["+PONG\r\n", "PONG"],
    ["$-1\r\n", null],
    ["$3\r\na\r\n\r\n", "a\r\n"],
    ["*0\r\n", []],
  ];
  for (const [text, expected] of cases) {
    for (let size = 0; size < text.length; size += 1) assert.equal(readReply(Buffer.from(text.slice(0, size)), 0), null);
    assert.deepEqual(readReply(Buffer.from(text), 0), [expected, text.length]);
  }
});

test("what is no reply throws", () => {
  for (const text of ["HTTP/1.1 200 OK\r\n", ":x\r\n", "*99\r\n", "*1\r\n*1\r\n:1\r\n", "$99999999\r\n", ":1e9\r\n", "\r\n"]) {
    assert.throws(() => readReply(Buffer.from(text), 0), Error, text);
  }
});

test("words are counted in bytes", () => {
  assert.equal(encode(["GET", "é\r\n"]), "*2\r\n$3\r\nGET\r\n$4\r\né\r\n\r\n");
});

test("thousands of calls share one connection and get their own replies", async () => {
  let count = 0;
  const respond: Respond = (socket, data) => {
    for (let n = commandsIn(data); n > 0; n -= 1) socket.write(`:${(count += 1)}\r\n`);
  };
  await serve(respond, async (url, accepted) => {
    const connection = new Connection(url, 30_000, 5000);
    const replies = await Promise.all(Array.from({ length: 3000 }, () => connection.call(["PING"])));
    assert.deepEqual(replies.map(([reply]) => reply), Array.from({ length: 3000 }, (_, i) => i + 1));
    assert.equal(accepted.length, 1);
    connection.close();
  });
});

test("beyond the most that may be under way calls fail at once", async () => {
  await serve(() => {}, async (url) => {
    const connection = new Connection(url, 30_000, 10);
    const calls = Array.from({ length: 100 }, () => connection.call(["PING"]));
    const refused = await Promise.allSettled(calls.slice(10));
    assert.ok(refused.every(({ status }) => status === "rejected"));
    connection.close();
    assert.ok((await Promise.allSettled(calls)).every(({ status }) => status === "rejected"));
  });
});

test("a reply that comes late is not taken for that of a later call", async () => {
  let release: () => void = () => {};
  let first = true;
  const respond: Respond = (socket, data) => {
    if (first) {
      first = false;
      // The rest of the reply comes after the deadline.
      socket.write("+la");
      release = () => socket.write("te\r\n");
      return;
    }
    for (let n = commandsIn(data); n > 0; n -= 1) socket.write("+second\r\n");
  };
  await serve(respond, async (url, accepted) => {
    const connection = new Connection(url, 50, 10);
    await assert.rejects(connection.call(["PING"]), /deadline/);
    release();
    let reply: Reply[] = [];
    while (reply[0] === undefined) reply = await connection.call(["PING"]).catch(() => []);
    assert.deepEqual(reply, ["second"]);
    assert.ok(accepted.length >= 1);
    connection.close();
  });
});

test("too few replies fail the call and not those after it", async () => {
  const respond: Respond = (socket, data) => void socket.write(commandsIn(data) === 2 ? "+one\r\n" : "+PONG\r\n");
  await serve(respond, async (url) => {
    const connection = new Connection(url, 50, 10);
    await assert.rejects(connection.call(["PING"], ["PING"]), /deadline/);
    let reply: Reply[] = [];
    while (reply[0] === undefined) reply = await connection.call(["PING"]).catch(() => []);
    assert.deepEqual(reply, ["PONG"]);
    connection.close();
  });
});

test("after a silent connection, and after garbage, the next call gets a new one", async () => {
  let connections = 0;
  const seen = new WeakMap<net.Socket, number>();
  const respond: Respond = (socket) => {
    if (!seen.has(socket)) seen.set(socket, (connections += 1));
    if (seen.get(socket) === 2) socket.write("HTTP/1.1 400 Bad Request\r\n\r\n");
    if ((seen.get(socket) ?? 0) > 2) socket.write("+PONG\r\n");
  };
  await serve(respond, async (url) => {
    const connection = new Connection(url, 50, 10);
    await assert.rejects(connection.call(["PING"]), /deadline/);
    await assert.rejects(connection.call(["PING"]), /Redis protocol|deadline/);
    let reply: Reply[] = [];
    while (reply[0] === undefined) reply = await connection.call(["PING"]).catch(() => []);
    assert.deepEqual(reply, ["PONG"]);
    connection.close();
  });
});

test("a refused token fails the calls behind it", async () => {
  await serve((socket) => void socket.write("-WRONGPASS no\r\n"), async (url) => {
    const connection = new Connection(url.replace("//", "//:token@"), 30_000, 10);
    await assert.rejects(connection.call(["PING"]), /WRONGPASS/);
  });
});

test("wrong addresses are refused at once", () => {
  assert.throws(() => new Connection("redis://x", 20, 1), /sluice:\/\//);
  assert.throws(() => new Connection("sluice://x", 0, 1), /deadlineMs/);
});
