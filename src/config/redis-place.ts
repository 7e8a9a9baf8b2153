/**
 * The address and the credentials of a Redis. Only the client uses the password; no message or log line contains it.
 */
export interface RedisPlace {
  /** A server, a master that sentinels name, or a cluster. */
  readonly kind: "server" | "sentinel" | "cluster";
  /** The address of the server, of the sentinels, or of some nodes of the cluster. */
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
  readonly tls: boolean;
  readonly username: string | null;
  readonly password: string | null;
  /** The name of the master for sentinels; otherwise empty. */
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
 * Parses `redis://user:password@host:6379/0` (the form of the IANA registration), with `rediss` for TLS,
 * `redis-sentinel://host,host/master/0` and `redis-cluster://host,host`.
 *
 * @throws {TypeError} without any part of the URL, because the URL may contain a password.
 */
export function redisPlace(url: string): RedisPlace {
  const [, scheme = "", user, hosts = "", path = ""] =
    /^([a-z-]+):\/\/(?:([^@/]*)@)?([^@/?#]+)\/?([^@?#]*)$/.exec(url) ?? [];
  const protocol = SCHEMES[scheme];
  if (!protocol)
    throw new TypeError(`it does not have the form ${FORM}; the schemes are ${Object.keys(SCHEMES).join(", ")}`);
  const [username, password = null] = splitOnce(user ?? "", ":");
  const [master, database] = protocol.kind === "sentinel" ? splitOnce(path, "/") : ["", path];
  if (protocol.kind === "sentinel" && master === "") throw new TypeError("it does not end with the name of the master");
  if (protocol.kind === "cluster" && path !== "") throw new TypeError("a cluster has no databases to choose from");
  return {
    ...protocol,
    hosts: hosts.split(",").map((host) => readHost(host, PORTS[protocol.kind])),
    username: username === "" ? null : decoded(username),
    password: password === null ? null : decoded(password),
    master: decoded(master),
    database: readDatabase(database ?? ""),
  };
}

/** Returns the address of a Redis for messages and for the log. */
export function describePlace({ kind, hosts, master }: RedisPlace): string {
  const where = hosts.map(({ host, port }) => `${host.includes(":") ? `[${host}]` : host}:${port}`).join(", ");
  if (kind === "sentinel") return `the Redis "${master}" of the sentinels at ${where}`;
  return kind === "cluster" ? `the Redis cluster at ${where}` : `the Redis at ${where}`;
}

/** Returns the URL of a Redis without its user and its password, for administrators. */
export function shownUrl({ kind, tls, hosts, username, password, master, database }: RedisPlace): string {
  const [scheme] = Object.entries(SCHEMES).find(([, each]) => each.kind === kind && each.tls === tls)!;
  const user = username === null && password === null ? "" : "(hidden)@";
  const places = hosts.map(({ host, port }) => `${host.includes(":") ? `[${host}]` : host}:${port}`).join(",");
  const path = [...(master === "" ? [] : [encodeURIComponent(master)]), ...(database === 0 ? [] : [database])].join(
    "/",
  );
  return `${scheme}://${user}${places}${path === "" ? "" : `/${path}`}`;
}

function readHost(text: string, defaultPort: number): { host: string; port: number } {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/.exec(text);
  const port = match?.[3] === undefined ? defaultPort : Number(match[3]);
  if (!match || port < 1 || port > 65_535) throw new TypeError("one of its hosts is not host:port");
  return { host: (match[1] ?? match[2])!, port };
}

function readDatabase(text: string): number {
  if (text === "") return 0;
  if (!/^\d+$/.test(text) || Number(text) > LARGEST_DATABASE) throw new TypeError("its database is not a number");
  return Number(text);
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new TypeError("its percent-encoding is invalid");
  }
}
