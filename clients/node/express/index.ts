/** A store for express-rate-limit: counters on a Sluice server, over the Redis protocol. */
import { createHash } from "node:crypto";
import type { ClientRateLimitInfo, Options, Store } from "express-rate-limit";
import { Connection, type Reply } from "../resp.js";

export interface StoreOptions {
  /** Of a whole call, with connecting. */
  deadlineMs?: number;
  /** While the server does not answer: every call counts as the first ("open") or is denied ("closed"); or the store
   * throws, and passOnStoreError of express-rate-limit decides. */
  onFailure?: "open" | "closed" | "throw";
  /** Before all keys; two limiters of one application need two. */
  prefix?: string;
  onError?: (error: Error) => void;
  /** Calls under way; beyond that they fail at once. */
  maxPending?: number;
}

const longestKey = 1024;

/** `rateLimit({ store: new SluiceStore("sluice://127.0.0.1:6380"), … })` */
export class SluiceStore implements Store {
  readonly localKeys = false;
  readonly prefix: string;
  private windowMs = 60_000;
  private readonly connection: Connection;
  private readonly options: StoreOptions;

  constructor(url: string, options: StoreOptions = {}) {
    const onFailure = options.onFailure ?? "open";
    if (!["open", "closed", "throw"].includes(onFailure)) throw new Error("onFailure must be 'open', 'closed' or 'throw'");
    this.options = { ...options, onFailure };
    this.prefix = options.prefix ?? "rl:";
    this.connection = new Connection(url, options.deadlineMs ?? 20, options.maxPending ?? 1024);
  }

  init({ windowMs }: Options): void {
    this.windowMs = windowMs;
  }

  async increment(key: string): Promise<ClientRateLimitInfo> {
    try {
      return await this.count(key, 1);
    } catch (error) {
      this.options.onError?.(error as Error);
      if (this.options.onFailure === "throw") throw error;
      return { totalHits: this.options.onFailure === "open" ? 1 : Number.MAX_SAFE_INTEGER, resetTime: undefined };
    }
  }

  async get(key: string): Promise<ClientRateLimitInfo | undefined> {
    const info = await this.count(key, 0);
    return info.totalHits > 0 ? info : undefined;
  }

  /** For skipSuccessfulRequests and skipFailedRequests; the server needs the setting negative_hits: on. */
  async decrement(key: string): Promise<void> {
    await this.count(key, -1).catch((error: Error) => this.options.onError?.(error));
  }

  /** Needs the role operator. */
  async resetKey(key: string): Promise<void> {
    await this.connection.call(["DEL", this.stored(key)]);
  }

  shutdown(): void {
    this.connection.close();
  }

  private async count(key: string, hits: number): Promise<ClientRateLimitInfo> {
    const stored = this.stored(key);
    const window = String(Math.max(1, Math.ceil(this.windowMs)));
    const [counted, rest] = await this.connection.call(
      ["INCREX", stored, "BYINT", String(hits), "PX", window, "ENX"],
      ["PTTL", stored],
    );
    const total = Array.isArray(counted) ? counted[0] : undefined;
    if (!isCount(total) || !Number.isInteger(rest)) throw new Error("the reply is not that of INCREX");
    return { totalHits: total, resetTime: new Date(Date.now() + Math.max(rest as number, 0)) };
  }

  /** Of a long key, its hash: callers must not get around a limit with a key that is refused. */
  private stored(key: string): string {
    const name = this.prefix + key;
    if (Buffer.byteLength(name) <= longestKey) return name;
    return `${this.prefix}sha256:${createHash("sha256").update(name).digest("hex")}`;
  }
}

function isCount(reply: Reply | undefined): reply is number {
  return typeof reply === "number" && reply >= 0;
}
