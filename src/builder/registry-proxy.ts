import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type Duplex, duplexPair, pipeline, Transform } from "node:stream";

import { isPackageName } from "../package-names.ts";
import { RegistryClient, type RegistryEgress, RegistryFault } from "./registry-fetch.ts";
import { packumentUrl, type Registries, type Registry, registryOf, tarballUrl } from "./registry-urls.ts";

/** The most requests of one build: two for each of 200 packages, and as many for versions that were not picked. */
const MAX_REQUESTS = 1_000;
/** The most connections of one build. The bundler has eight, and opens another one when the registry breaks one. */
const MAX_CONNECTIONS = 256;
/** The most bytes of a request, which has a name, a version and a path. The bundler sends the next one after the answer. */
const MAX_REQUEST_BYTES = 2_048;
/** The most bytes of a description, as it is sent. The largest of the public registry have some ten megabytes. */
const MAX_PACKUMENT_BYTES = 48 * 2 ** 20;
/** The most bytes of a tarball. All packages together have at most 100 MiB unpacked. */
const MAX_TARBALL_BYTES = 64 * 2 ** 20;
/** The most bytes of one build. It stops a builder that was taken over from using the service's network for something else. */
const MAX_BUILD_BYTES = 512 * 2 ** 20;
/**
 * A registry must send chunks of at least this size on average, in bytes, after a number of chunks of any size. Each chunk
 * costs the service some microseconds, however small it is.
 */
const LEAST_CHUNK_BYTES = 64;
const MAX_SMALL_CHUNKS = 1_024;
const SMALL_CHUNKS = "sends its answer in chunks that are too small";
/** The registry leaves out texts that only people read. */
const SHORT = "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8";
const VERSION = /^\d+\.\d+\.\d+(?:-[\w.-]+)?(?:\+[\w.-]+)?$/;
const MAX_VERSION_CHARS = 128;

/**
 * What a builder reaches as its registry: it answers in this process, over streams. It asks the registry of the package's scope with
 * the credential of this registry, and notes the SHA-512 of each tarball that passes. Of an answer it reads only the head.
 */
export class RegistryProxy {
  /** The integrity of each tarball that passed whole, by `name@version`; null if different bytes passed. */
  readonly passed: Map<string, string | null> = new Map();
  /** Why it cut an answer, or null. The builder sees only a broken connection. */
  tooLarge: string | null = null;
  readonly #registries: Registries;
  readonly #clients: Map<Registry, RegistryClient> = new Map();
  readonly #egress: RegistryEgress;
  readonly #signal: AbortSignal;
  readonly #stopBuild: () => void;
  readonly #server: Server;
  readonly #connections: WeakMap<Duplex, Connection> = new WeakMap();
  #connected = 0;
  #requests = 0;
  #bytes = 0;

  /** @param stopBuild ends the build of a builder that asks without end */
  constructor(registries: Registries, egress: RegistryEgress, signal: AbortSignal, stopBuild: () => void) {
    this.#registries = registries;
    this.#egress = egress;
    this.#signal = signal;
    this.#stopBuild = stopBuild;
    this.#server = createServer((request, response) => void this.#receive(request, response));
  }

  /** Returns a connection to this proxy; null if a builder has had too many. */
  connect(): Duplex | null {
    if (++this.#connected > MAX_CONNECTIONS) return null;
    const [mine, other] = duplexPair();
    mine.on("error", () => {});
    // A side of a pair may not notice that the other is destroyed.
    mine.on("close", () => other.destroy());
    other.on("close", () => mine.destroy());
    const connection: Connection = { bytes: 0, isAnswering: false };
    this.#connections.set(mine, connection);
    const push = mine.push.bind(mine);
    // Before Node parses them: it parses all requests of a chunk, even after the connection is destroyed.
    mine.push = (chunk: Buffer | null) => {
      connection.bytes += chunk?.length ?? 0;
      if (connection.bytes <= MAX_REQUEST_BYTES) return push(chunk);
      mine.destroy();
      return false;
    };
    this.#server.emit("connection", mine);
    return other;
  }

  close(): void {
    for (const client of this.#clients.values()) client.close();
    this.#server.closeAllConnections();
  }

  /**
   * Answers one request of each connection at a time, and a bounded number in all. A builder that was taken over could otherwise
   * make the service parse and refuse requests without end.
   */
  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const connection = this.#connections.get(request.socket)!;
    if (connection.isAnswering) return void request.socket.destroy();
    if (++this.#requests > MAX_REQUESTS) {
      this.tooLarge ??= `the packages need more than ${MAX_REQUESTS} requests to the registry`;
      return this.#stopBuild();
    }
    connection.isAnswering = true;
    connection.bytes = 0;
    response.once("close", () => (connection.isAnswering = false));
    await this.#answer(request, response);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const target = readTarget(request.url ?? "");
      if (!target) throw new Refusal(400, "is not a package of a registry");
      await (target.version === null ? this.#packument(target, response) : this.#tarball(target, response));
    } catch (error) {
      refuse(response, error);
    }
  }

  async #packument({ name, isFull }: Target, response: ServerResponse): Promise<void> {
    const registry = registryOf(name, this.#registries);
    const headers = { accept: isFull ? "application/json" : SHORT, "accept-encoding": "gzip" };
    const answer = await this.#get(registry, packumentUrl(name, registry), headers);
    const encoding = answer.headers["content-encoding"];
    response.writeHead(200, encoding === "gzip" ? { "content-encoding": "gzip" } : {});
    await this.#pass(answer, response, MAX_PACKUMENT_BYTES, () => {});
  }

  async #tarball({ name, version, place }: Target, response: ServerResponse): Promise<void> {
    const registry = registryOf(name, this.#registries);
    const url = tarballUrl(name, version!, place, registry);
    if (!url) throw new Refusal(400, "is not at the registry of its package");
    const answer = await this.#get(registry, url, { accept: "*/*", "accept-encoding": "identity" });
    const hash = createHash("sha512");
    response.writeHead(200);
    await this.#pass(answer, response, MAX_TARBALL_BYTES, (chunk) => hash.update(chunk));
    const key = `${name}@${version}`;
    const integrity = `sha512-${hash.digest("base64")}`;
    this.passed.set(key, (this.passed.get(key) ?? integrity) === integrity ? integrity : null);
  }

  async #get(registry: Registry, url: URL, headers: Readonly<Record<string, string>>): Promise<IncomingMessage> {
    let client = this.#clients.get(registry);
    if (!client) this.#clients.set(registry, (client = new RegistryClient(registry, this.#egress)));
    const answer = await client.get(url, headers, this.#signal);
    const status = answer.statusCode!;
    if (status === 200) return answer;
    answer.destroy();
    if (status === 404 || status === 410) throw new Refusal(404, "does not exist");
    if (status === 401 || status === 403) throw new Refusal(403, `refuses the request (status ${status})`);
    throw new Refusal(503, `answered with status ${status}`);
  }

  /** Passes a body on. A body that is too large is cut, so that the builder sees a broken connection. */
  #pass(
    answer: IncomingMessage,
    response: ServerResponse,
    maxBytes: number,
    see: (chunk: Buffer) => void,
  ): Promise<void> {
    let bytes = 0;
    let chunks = 0;
    const counted = new Transform({
      transform: (chunk: Buffer, _, done) => {
        bytes += chunk.length;
        this.#bytes += chunk.length;
        if (bytes > maxBytes) this.tooLarge ??= `the registry sent more than ${maxBytes / 2 ** 20} MiB for one package`;
        if (this.#bytes > MAX_BUILD_BYTES)
          this.tooLarge ??= `the registry sent more than ${MAX_BUILD_BYTES / 2 ** 20} MiB`;
        if (this.tooLarge !== null) return done(new RegistryFault(this.tooLarge));
        if (++chunks > MAX_SMALL_CHUNKS && bytes < chunks * LEAST_CHUNK_BYTES)
          return done(new RegistryFault(SMALL_CHUNKS));
        see(chunk);
        return done(null, chunk);
      },
    });
    return new Promise((resolve, reject) => {
      pipeline(answer, counted, response, (error) => (error ? reject(error) : resolve()));
    });
  }
}

interface Connection {
  /** The bytes that arrived after the head of the latest request. */
  bytes: number;
  isAnswering: boolean;
}

interface Target {
  readonly name: string;
  /** Null for a description. */
  readonly version: string | null;
  readonly place: string;
  readonly isFull: boolean;
}

/** An answer of the proxy itself. */
class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Reads a request of a builder, which is hostile. */
function readTarget(text: string): Target | null {
  const [path = "", query] = text.split("?");
  const [, what, ...words] = path.split("/");
  const [name, version, place] = words.map(decoded);
  if (name === undefined || name === null || !isPackageName(name)) return null;
  if (what === "packument" && words.length === 1) return { name, version: null, place: "", isFull: query === "full" };
  if (what !== "tarball" || words.length !== 3 || version == null || place == null) return null;
  const isVersion = version.length <= MAX_VERSION_CHARS && VERSION.test(version);
  return isVersion ? { name, version, place, isFull: false } : null;
}

function decoded(word: string): string | null {
  try {
    return decodeURIComponent(word);
  } catch {
    return null;
  }
}

function refuse(response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy();
  const status = error instanceof Refusal ? error.status : 503;
  const isKnown = error instanceof Refusal || error instanceof RegistryFault;
  response.writeHead(status, { "content-type": "text/plain" }).end(isKnown ? error.message : "does not answer");
}
