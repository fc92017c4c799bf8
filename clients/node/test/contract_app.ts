/** The application of the contract (clients/contract/README.md), with the adapter that CONTRACT_ADAPTER names. */
import type { AddressInfo } from "node:net";
import express from "express";
import { MemoryStore, rateLimit } from "express-rate-limit";
import Fastify from "fastify";
import { Client } from "../check.js";
import { SluiceStore } from "../express/index.js";
import sluice from "../fastify/index.js";
import { FakeClient } from "../testing.js";

const env = process.env as Record<string, string>;
const { CONTRACT_ADAPTER, CONTRACT_TARGET, CONTRACT_ON_FAILURE } = env;
const onFailure = CONTRACT_ON_FAILURE as "open" | "closed";
const deadlineMs = Number(env.CONTRACT_DEADLINE_MS);

function keyOf(request: { headers: NodeJS.Dict<string | string[]>; url: string }): string | undefined {
  const query = request.url.split("?")[1] ?? "";
  return (request.headers["x-api-key"] as string) || new URLSearchParams(query).get("key") || undefined;
}

function runExpress(): void {
  const app = express();
  const limited = (limit: number, prefix: string) =>
    rateLimit({
      windowMs: 3_600_000,
      limit,
      legacyHeaders: true,
      keyGenerator: (request) => keyOf(request) ?? "nobody",
      store: CONTRACT_TARGET
        ? new SluiceStore(`sluice://${CONTRACT_TARGET}`, { deadlineMs, onFailure, prefix })
        : new MemoryStore(),
    });
  app.get("/limited", limited(Number(env.CONTRACT_LIMIT), "limited:"), (_, response) => void response.send("ok"));
  app.get("/busy", limited(Number(env.CONTRACT_BUSY_LIMIT), "busy:"), (_, response) => void response.send("ok"));
  app.get("/exempt", (_, response) => void response.send("ok"));
  const server = app.listen(0, "127.0.0.1", () => console.log(`listening ${(server.address() as AddressInfo).port}`));
}

async function runFastify(): Promise<void> {
  const app = Fastify();
  await app.register(sluice, {
    client: CONTRACT_TARGET
      ? new Client(`http://${CONTRACT_TARGET}`, { deadlineMs, onFailure })
      : new FakeClient(Number(env.CONTRACT_LIMIT)),
    attributes: (request) => ({ api_key: keyOf(request) }),
  });
  for (const path of ["/limited", "/busy", "/unlimited"]) app.get(path, async () => "ok");
  app.get("/exempt", { config: { sluice: false } }, async () => "ok");
  await app.listen({ port: 0, host: "127.0.0.1" });
  console.log(`listening ${(app.server.address() as AddressInfo).port}`);
}

if (CONTRACT_ADAPTER === "express") runExpress();
else await runFastify();
