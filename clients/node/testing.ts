/** A client for tests of applications: no server, no network. */
import { type Attributes, type Checker, type Decision, decision } from "./decision.js";

export { decision } from "./decision.js";

/** Passes `limit` calls of each caller (undefined: all), by `api_key`, else by `ip`. While `decision` is set, it is the
 * result of every check. `calls` has the attributes and the cost of all checks. */
export class FakeClient implements Checker {
  calls: { attributes: Attributes; cost: number }[] = [];
  decision: Decision | undefined;
  private used = new Map<string, number>();

  constructor(public limit?: number) {}

  reset(): void {
    this.calls = [];
    this.used.clear();
  }

  async check(attributes: Attributes, cost = 1): Promise<Decision> {
    this.calls.push({ attributes: { ...attributes }, cost });
    if (this.decision) return this.decision;
    if (this.limit === undefined) return decision({ allowed: true });
    const caller = attributes.api_key || attributes.ip || "";
    const used = this.used.get(caller) ?? 0;
    const allowed = used + cost <= this.limit;
    if (allowed) this.used.set(caller, used + cost);
    const left = this.limit - (allowed ? used + cost : used);
    const headers: [string, string][] = [["X-RateLimit-Limit", `${this.limit}`], ["X-RateLimit-Remaining", `${left}`]];
    if (allowed) return decision({ allowed, headers });
    headers.push(["Retry-After", "60"]);
    return decision({ allowed, status: 429, headers, code: "RATE_LIMIT_EXCEEDED", message: "Rate limit exceeded" });
  }
}
