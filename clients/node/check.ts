/** Checks over HTTP: `POST /api/v1/rate-limit/check`. */
import http from "node:http";
import https from "node:https";
import { type Attributes, type Checker, type Decision, decide, decision, printable } from "./decision.js";

export { type Attributes, type Checker, type Decision, bodyOf } from "./decision.js";

export interface ClientOptions {
  /** Of a whole check, with waiting and connecting. */
  deadlineMs?: number;
  /** What holds while the server does not decide in time. */
  onFailure?: "open" | "closed";
  /** If the server requires one of checks. */
  token?: string;
  /** Told of every check that the server did not decide. */
  onError?: (error: Error) => void;
  maxConnections?: number;
  /** Checks that wait for a connection; beyond that they fail at once. */
  maxWaiting?: number;
}

const maxBody = 1024 * 1024;
/** Larger ones might not arrive within the deadline: callers could cause failures. */
const maxRequest = 64 * 1024;

/** Checks calls by the rules of a server. Never rejects for a server that fails: `onFailure` decides then. */
export class Client implements Checker {
  private readonly waiting = new Set<() => void>();
  private free: number;
  private readonly options: Required<ClientOptions>;
  private readonly agent: http.Agent;
  private readonly headers: http.OutgoingHttpHeaders;
  private readonly target: URL;

  constructor(url: string, options: ClientOptions = {}) {
    const defaults = { deadlineMs: 20, onFailure: "open" as const, token: "", onError: () => {} };
    this.options = { ...defaults, maxConnections: 64, maxWaiting: 1024, ...options };
    const { deadlineMs, onFailure, token, maxConnections } = this.options;
    this.target = new URL("/api/v1/rate-limit/check", url);
    if (!/^https?:$/.test(this.target.protocol)) {
      throw new Error(`expected http://host:port or https://host:port, found ${this.target.protocol}`);
    }
    if (!(deadlineMs > 0)) throw new Error(`deadlineMs must be positive, found ${deadlineMs}`);
    if (onFailure !== "open" && onFailure !== "closed") throw new Error("onFailure must be 'open' or 'closed'");
    if (!printable.test(token)) throw new Error("token must be printable ASCII");
    this.free = maxConnections;
    this.agent = new (this.target.protocol === "https:" ? https : http).Agent({ keepAlive: true, scheduling: "lifo" });
    this.headers = {
      "Content-Type": "application/json",
      // Of the server for its store, so that the rule's failure mode decides and not this client's.
      "X-Request-Timeout-Ms": Math.max(1, Math.floor(deadlineMs * 0.75)),
      ...(token ? { Authorization: `Bearer ${token}` } : {}),
    };
  }

  check(attributes: Attributes, cost = 1): Promise<Decision> {
    const body = JSON.stringify({ attributes, cost, receipt: false });
    if (Buffer.byteLength(body) > maxRequest) {
      const message = "The attributes of the call are too long";
      return Promise.resolve(decision({ allowed: false, status: 400, code: "BODY_TOO_LARGE", message }));
    }
    return new Promise((resolve) => {
      let giveUp = () => {};
      let settled = false;
      const settle = (result: Decision | Error) => {
        if (settled) return;
        settled = true;
        clearTimeout(timer);
        if (!(result instanceof Error)) return resolve(result);
        giveUp();
        this.options.onError(result);
        resolve(this.failure());
      };
      // After what has arrived meanwhile.
      const late = () => settle(new Error("no reply within the deadline"));
      const timer = setTimeout(() => setImmediate(late), this.options.deadlineMs);
      const start = () => {
        giveUp = this.send(body, settle);
      };
      if (this.free > 0) return start();
      if (this.waiting.size >= this.options.maxWaiting) return settle(new Error("too many checks wait"));
      this.waiting.add(start);
      giveUp = () => this.waiting.delete(start);
    });
  }

  /** Closes idle connections. */
  close(): void {
    this.agent.destroy();
  }

  private failure(): Decision {
    if (this.options.onFailure === "open") return decision({ allowed: true, failed: true });
    const message = "The rate limiter is not available";
    return decision({ allowed: false, status: 503, code: "LIMITER_UNAVAILABLE", message, failed: true });
  }

  /** Sends a check on a connection of its own. Returns a function that closes it. */
  private send(body: string, settle: (result: Decision | Error) => void): () => void {
    this.free -= 1;
    const headers = { ...this.headers, "Content-Length": Buffer.byteLength(body) };
    const { request: open } = this.target.protocol === "https:" ? https : http;
    const request = open(this.target, { method: "POST", agent: this.agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        if ((size += chunk.length) > maxBody) request.destroy(new Error("the reply is too long"));
      });
      response.on("error", settle);
      response.on("end", () => settle(decide(response, Buffer.concat(chunks).toString())));
    });
    request.on("error", settle);
    request.on("close", () => {
      settle(new Error("the server closed the connection before its reply was complete"));
      this.free += 1;
      // Not before the agent has the connection back.
      setImmediate(() => this.startNext());
    });
    request.end(body);
    return () => request.destroy();
  }

  private startNext(): void {
    for (const start of this.waiting) {
      if (this.free <= 0) return;
      this.waiting.delete(start);
      start();
    }
  }
}
