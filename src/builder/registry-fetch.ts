import { Agent, type AgentOptions, type ClientRequestArgs, type IncomingMessage, request } from "node:http";
import type { Duplex } from "node:stream";

import { EgressDenied } from "../egress/denied.ts";
import { type EgressOptions, type EgressPolicy, egressPolicy } from "../egress/policy.ts";
import { dial } from "./dial-registry.ts";
import type { Registry } from "./registry-urls.ts";

/** The time limit of DNS, TCP and TLS together. */
const CONNECT_MS = 10_000;
/** The time in which a registry must send a byte. It stops a registry that answers slowly without end. */
const IDLE_MS = 15_000;
const MAX_REDIRECTS = 5;
/** The most interim answers, such as 103, before an answer. Each takes several calls of the service's thread. */
const MAX_INTERIM = 16;
const CONNECTIONS = 8;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Why a registry gave no answer. The text is for clients: it has no address and no credential. */
export class RegistryFault extends Error {
  override readonly name = "RegistryFault";
}

/** What the service refuses in addition to private addresses: itself, and the servers that it uses. */
export type RegistryEgress = Pick<EgressOptions, "ownPorts" | "ownPlaces" | "ownAddresses" | "resolver">;

/** Fetches from one registry, over connections that serve many requests. Its host and port may be private; redirects may not. */
export class RegistryClient {
  readonly #registry: Registry;
  readonly #agent: PolicyAgent;

  constructor(registry: Registry, egress: RegistryEgress) {
    this.#registry = registry;
    const { hostname, port, protocol } = registry.url;
    const place = {
      host: hostname.replace(/^\[(.*)\]$/, "$1"),
      port: Number(port || (protocol === "https:" ? 443 : 80)),
    };
    this.#agent = new PolicyAgent(egressPolicy({ ...egress, mode: "public", allow: [place] }));
  }

  /**
   * Sends a GET, and follows redirects. The body of the answer has no bytes for at most `IDLE_MS`.
   *
   * @throws {RegistryFault}
   */
  async get(first: URL, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<IncomingMessage> {
    let url = first;
    for (let redirects = 0; ; redirects++) {
      const response = await this.#send(url, headers, signal);
      const { location } = response.headers;
      if (!REDIRECTS.has(response.statusCode!) || location === undefined) return response;
      // Its body may be endless.
      response.destroy();
      if (redirects === MAX_REDIRECTS) throw new RegistryFault(`redirected more than ${MAX_REDIRECTS} times`);
      url = this.#redirected(location, url);
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  #redirected(location: string, from: URL): URL {
    const url = URL.parse(location, from.href);
    const isHttp = url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
    if (!isHttp) throw new RegistryFault("redirected to something that is not an HTTP URL");
    if (from.protocol === "https:" && url.protocol === "http:") throw new RegistryFault("redirected to plain HTTP");
    return url;
  }

  async #send(url: URL, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<IncomingMessage> {
    const { token, url: own } = this.#registry;
    const credential = token !== null && url.origin === own.origin ? { authorization: `Bearer ${token}` } : {};
    try {
      return await sendGet(url, { ...headers, ...credential }, this.#agent, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof RegistryFault) throw error;
      if (error instanceof EgressDenied)
        throw new RegistryFault(`leads to a place that ${error.why}`, { cause: error });
      const { code } = error as NodeJS.ErrnoException;
      throw new RegistryFault(`does not answer${code === undefined ? "" : ` (${code})`}`, { cause: error });
    }
  }
}

function sendGet(
  url: URL,
  headers: Readonly<Record<string, string>>,
  agent: PolicyAgent,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const sent = request({
    agent,
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port || (url.protocol === "https:" ? 443 : 80),
    path: url.pathname + url.search,
    headers: { host: url.host, "user-agent": "caisson", ...headers },
    timeout: IDLE_MS,
    signal,
    ...({ origin: url.origin } satisfies Origin),
  } as ClientRequestArgs);
  sent.once("response", resolve);
  let interim = 0;
  sent.on("information", () => {
    if (++interim > MAX_INTERIM) sent.destroy(new RegistryFault("sends too many interim answers"));
  });
  sent.on("timeout", () => sent.destroy(new RegistryFault(`sent nothing for ${IDLE_MS / 1_000} s`)));
  sent.on("error", reject);
  sent.once("close", () => reject(new RegistryFault("closed the connection before its answer")));
  sent.end();
  return promise;
}

interface Origin {
  /** The scheme, host and port of a request. */
  readonly origin: string;
}

/** Connects to the addresses that a policy allows, with TLS for `https:`. */
class PolicyAgent extends Agent {
  readonly #policy: EgressPolicy;

  constructor(policy: EgressPolicy) {
    super({ keepAlive: true, maxSockets: CONNECTIONS } satisfies AgentOptions);
    this.#policy = policy;
  }

  override getName(options?: ClientRequestArgs): string {
    return (options as unknown as Origin).origin;
  }

  override createConnection(
    options: ClientRequestArgs,
    created?: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    const { origin } = options as unknown as Origin;
    dial(new URL(origin), this.#policy, CONNECT_MS).then(
      (socket) => created!(null, socket),
      (error: unknown) => created!(error as Error, null as unknown as Duplex),
    );
    return undefined;
  }
}
