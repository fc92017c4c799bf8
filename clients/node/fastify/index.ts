/** A Fastify plugin that checks every request of the routes in its scope. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type Attributes, type Checker, bodyOf } from "../check.js";

export interface SluiceOptions {
  /** A Client, or a FakeClient in tests. */
  client: Checker;
  /** Further attributes of a call, such as the API key. Null: the request is not limited. */
  attributes?: (request: FastifyRequest) => Attributes | null | Promise<Attributes | null>;
}

declare module "fastify" {
  interface FastifyContextConfig {
    /** Of a route: the cost of its calls, or false: not limited. */
    sluice?: false | { cost: number };
  }
}

/** `app.register(sluice, { client: new Client("http://127.0.0.1:8080") })` */
export async function sluice(app: FastifyInstance, options: SluiceOptions): Promise<void> {
  if (!options?.client) throw new Error("sluice needs the option client");
  app.addHook("onRequest", async (request: FastifyRequest, reply: FastifyReply) => {
    const { url, config } = request.routeOptions;
    if (config?.sluice === false) return;
    const own = options.attributes ? await options.attributes(request) : {};
    if (own === null) return;
    // The route with its placeholders; the path, if there is no such route. The address is Fastify's: see trustProxy.
    const endpoint = url ?? request.url.replace(/[?#].*$/s, "");
    const known = { ip: request.ip, method: request.method, endpoint };
    const decision = await options.client.check({ ...known, ...own }, config?.sluice?.cost ?? 1);
    for (const [name, value] of decision.headers) reply.header(name, value);
    if (decision.allowed) return;
    return reply.code(decision.status).type("application/json").send(bodyOf(decision));
  });
}

// The hooks apply to routes outside of the plugin, too, as those of fastify-plugin's plugins do.
Object.assign(sluice, { [Symbol.for("skip-override")]: true, [Symbol.for("fastify.display-name")]: "sluice" });

export default sluice;
