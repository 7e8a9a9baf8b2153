/** Where a Redis is and how it is entered. The password is for the client alone: nothing prints this. */
export interface RedisPlace {
  /** One server, servers that sentinels name, or the slots of a cluster. */
  readonly kind: "server" | "sentinel" | "cluster";
  /** Of the server, of the sentinels, or of some nodes of the cluster. */
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
  readonly tls: boolean;
  readonly username: string | null;
  readonly password: string | null;
  /** The name that sentinels know the servers by; empty elsewhere. */
  readonly master: string;
  readonly database: number;
}

const SCHEMES: Readonly<Record<string, Pick<RedisPlace, "kind" | "tls">>> = {
  redis: { kind: "server", tls: false },
  rediss: { kind: "server", tls: true },
  "redis-sentinel": { kind: "sentinel", tls: false },
  "rediss-sentinel": { kind: "sentinel", tls: true },
  "redis-cluster": { kind: "cluster", tls: false },
  "rediss-cluster": { kind: "cluster", tls: true },
};
const PORTS = { server: 6_379, sentinel: 26_379, cluster: 6_379 };
const FORM = "redis://[user:password@]host[:port][/database]";
const LARGEST_DATABASE = 1_000_000;

/**
 * Reads `redis://user:password@host:6379/0` (the form of the IANA registration), with `rediss` for TLS,
 * `redis-sentinel://host,host/master/0` and `redis-cluster://host,host`.
 *
 * @throws {TypeError} that repeats nothing of what was given: it may hold a password.
 */
export function redisPlace(given: string): RedisPlace {
  const [, scheme = "", user, hosts = "", path = ""] =
    /^([a-z-]+):\/\/(?:([^@/]*)@)?([^@/?#]+)\/?([^@?#]*)$/.exec(given) ?? [];
  const way = SCHEMES[scheme];
  if (!way) throw new TypeError(`it is not of the form ${FORM}; the schemes are ${Object.keys(SCHEMES).join(", ")}`);
  const [username, password = null] = splitOnce(user ?? "", ":");
  const [master, database] = way.kind === "sentinel" ? splitOnce(path, "/") : ["", path];
  if (way.kind === "sentinel" && master === "") throw new TypeError("it does not end with the name of the master");
  if (way.kind === "cluster" && path !== "") throw new TypeError("a cluster has no databases to choose from");
  return {
    ...way,
    hosts: hosts.split(",").map((host) => readHost(host, PORTS[way.kind])),
    username: username === "" ? null : decoded(username),
    password: password === null ? null : decoded(password),
    master: decoded(master),
    database: readDatabase(database ?? ""),
  };
}

/** Where it is, for messages and for the log. */
export function describePlace({ kind, hosts, master }: RedisPlace): string {
  const where = hosts.map(({ host, port }) => `${host.includes(":") ? `[${host}]` : host}:${port}`).join(", ");
  if (kind === "sentinel") return `the Redis "${master}" of the sentinels at ${where}`;
  return kind === "cluster" ? `the Redis cluster at ${where}` : `the Redis at ${where}`;
}

function readHost(given: string, otherwise: number): { host: string; port: number } {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/.exec(given);
  const port = match?.[3] === undefined ? otherwise : Number(match[3]);
  if (!match || port < 1 || port > 65_535) throw new TypeError("one of its hosts is not host:port");
  return { host: (match[1] ?? match[2])!, port };
}

function readDatabase(given: string): number {
  if (given === "") return 0;
  if (!/^\d+$/.test(given) || Number(given) > LARGEST_DATABASE) throw new TypeError("its database is not a number");
  return Number(given);
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new TypeError("its percent-encoding is broken");
  }
}
