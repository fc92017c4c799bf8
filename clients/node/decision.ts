/** What a check returns, and how a reply of the server becomes that. */
import type { IncomingMessage } from "node:http";

export type Attributes = Record<string, string | undefined>;

/** Whether a call passes. If not, `status` and `bodyOf` are the response; `headers` belong to every response. */
export interface Decision {
  allowed: boolean;
  status: number;
  headers: [string, string][];
  code: string;
  message: string;
  denialId: string;
  /** How long a caller of a leaky bucket should wait. */
  delayMs: number;
  /** The server did not decide: `onFailure` did. */
  failed: boolean;
}

export interface Checker {
  check(attributes: Attributes, cost?: number): Promise<Decision>;
}

/** What a response of the application carries on: all styles of docs/http.md, and nothing else that a server may send. */
const maxText = 1024;
const maxDelayMs = 86_400_000;
const passedOn = /^(x-ratelimit-[a-z-]+|ratelimit(-[a-z]+)?|retry-after)$/i;
export const printable = /^[\x20-\x7e]{0,1024}$/;

export function decision(fields: Partial<Decision> & { allowed: boolean }): Decision {
  const rest = { status: 200, headers: [], code: "", message: "", denialId: "", delayMs: 0, failed: false };
  return { ...rest, ...fields };
}

/** The body of a denial. */
export function bodyOf({ code, message, denialId }: Decision): string {
  return JSON.stringify({ error: { code, message, ...(denialId ? { denial_id: denialId } : {}) } });
}

/** The decision of a reply; an error if it has none, as a 500. */
export function decide(response: IncomingMessage, body: string): Decision | Error {
  const status = response.statusCode ?? 0;
  let told: Record<string, unknown> | null = null;
  try {
    told = JSON.parse(body) as Record<string, unknown> | null;
  } catch {
    return new Error("the body of the reply is not JSON");
  }
  const headers: [string, string][] = [];
  for (let i = 0; i + 1 < response.rawHeaders.length; i += 2) {
    const [name = "", value = ""] = response.rawHeaders.slice(i, i + 2);
    if (passedOn.test(name) && printable.test(value)) headers.push([name, value]);
  }
  if (typeof told !== "object" || told === null) return new Error("the body of the reply is not a JSON object");
  const { allowed, delayMs } = told;
  if (allowed === true && status === 200) {
    return decision({ allowed, headers, delayMs: typeof delayMs === "number" ? Math.min(Math.max(delayMs, 0), maxDelayMs) : 0 });
  }
  // A denial; or an invalid call, such as a key that is too long. What callers can cause must never pass.
  if (allowed === false ? status >= 400 && status < 600 : status === 400) {
    const text = (name: string) => (typeof told[name] === "string" ? (told[name] as string).slice(0, maxText) : "");
    const message = text("message") || text("detail");
    return decision({ allowed: false, status, headers, code: text("code"), message, denialId: text("denialId") });
  }
  return new Error(`the reply decides nothing: status ${status}`);
}
