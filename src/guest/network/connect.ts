import { isIP, Socket } from "node:net";

import type { OpenMessage } from "../../wire/messages.ts";
import { uncurry } from "../../wire/uncurry.ts";
import { connectArguments, type ConnectOptions } from "./arguments.ts";
import { Connection } from "./connection.ts";
import { badArgument, denied, errorOf, notFound } from "./errors.ts";
import { type Address, type Family, findAddresses, MAX_HOST_CHARACTERS } from "./lookups.ts";
import { feedOwnBuffer } from "./onread.ts";
import { takeOver } from "./take-over.ts";

const { assign } = Object;
const { isArray } = Array;
const { isInteger } = Number;
const toNumber = Number;
const later = process.nextTick.bind(process);
const undestroy = uncurry(Socket.prototype as Socket & Record<"_undestroy", () => void>, "_undestroy") as (
  socket: Socket,
) => void;
const MAX_PORT = 65_535;

const connections = new WeakMap<Socket, Connection>();
const find = uncurry(WeakMap.prototype, "get") as (map: typeof connections, socket: Socket) => Connection | undefined;
const keep = uncurry(WeakMap.prototype, "set") as (map: typeof connections, socket: Socket, value: Connection) => void;

/** Functions that ask the service, which can therefore do so on the way. */
const ours: unknown[] = [];

/** The connection that a socket speaks by, when it is one of those made here. */
export function connectionOf(socket: Socket): Connection | undefined {
  return find(connections, socket);
}

/** Says that a function given as the `lookup` option is no other than the service's own. */
export function knowLookup(lookup: unknown): void {
  ours[ours.length] = lookup;
}

/** Has every socket that connects do so through the service. */
export function patchConnect(): void {
  Object.defineProperty(Socket.prototype, "connect", { value: connect, writable: true, configurable: true });
}

function connect(this: Socket, ...args: unknown[]): Socket {
  const { options, callback } = connectArguments(args);
  if (options.port === undefined && options.path == null) {
    throw badArgument("ERR_MISSING_ARGS", 'The "options" or "port" or "path" argument must be specified');
  }
  const target = options.path == null ? targetOf(options) : null;
  if (callback) this.once("connect", callback);
  const refusal = refusalOf(this, options);
  const connection = refusal ? null : begin(this, options);
  assign(this, { connecting: true });
  if (!connection || !target) later(() => void this.destroy(refusal!));
  else findTargets(this, connection, target, options);
  return this;
}

/** @throws {TypeError | RangeError} as Node does. */
function targetOf({ host = "", port }: ConnectOptions): OpenMessage {
  if (typeof host !== "string") {
    throw badArgument("ERR_INVALID_ARG_TYPE", `The "options.host" property must be of type string`);
  }
  const number = typeof port === "string" && port !== "" ? toNumber(port) : port;
  if (!isInteger(number) || (number as number) < 0 || (number as number) > MAX_PORT) {
    const message = `options.port should be >= 0 and < 65536. Received ${String(port)}.`;
    throw assign(new RangeError(message), { code: "ERR_SOCKET_BAD_PORT" });
  }
  return { host: host === "" ? "localhost" : host, port: number as number };
}

/** What no policy decides about. */
function refusalOf(socket: Socket, { path, localAddress, localPort }: ConnectOptions): Error | null {
  if (path != null) {
    return denied(`connect to the Unix socket ${path} is not possible: a task reaches hosts and ports only`);
  }
  if (localAddress || localPort) {
    return denied("localAddress and localPort cannot be chosen: it is the service that connects");
  }
  const { _handle: handle, encrypted } = socket as { _handle?: unknown; encrypted?: boolean };
  if (encrypted) return denied("a TLSSocket cannot connect by itself: use tls.connect, or give it a connected socket");
  if (handle) return denied("a socket that has a descriptor of its own cannot connect: use a new one");
  const before = connectionOf(socket);
  return before && !socket.destroyed
    ? errorOf({ message: "connect EISCONN", code: "EISCONN", syscall: "connect" })
    : null;
}

/** Gives the socket a connection: its first, or another after it was closed. */
function begin(socket: Socket, options: ConnectOptions): Connection {
  const isFirst = !connectionOf(socket);
  // Node's own `connect` does the same for a socket that is used again.
  undestroy(socket);
  delete (socket as Partial<Socket>).write;
  const connection = new Connection(socket);
  keep(connections, socket, connection);
  takeOver(socket, connection);
  if (options.onread && isFirst) feedOwnBuffer(socket, options.onread);
  connection.touch();
  return connection;
}

/** Leaves the name to the service, unless the task wants to choose among its addresses. */
function findTargets(socket: Socket, connection: Connection, target: OpenMessage, options: ConnectOptions): void {
  const { host } = target;
  assign(socket, { _host: host });
  const family = familyOf(options.family);
  const lookup = options.lookup && !ours.includes(options.lookup) ? options.lookup : null;
  const isName = isIP(host) === 0;
  if (host.length > MAX_HOST_CHARACTERS) return later(() => void socket.destroy(notFound(host)));
  if (!isName || (family === 0 && !lookup)) return connection.open([target], isName ? host : null);

  const found = (error: Error | null, addresses: Address[]): void => {
    socket.emit("lookup", error, addresses[0]?.address, addresses[0]?.family, host);
    if (!socket.connecting || socket.destroyed) return;
    if (error) return later(() => void socket.destroy(error));
    connection.open(
      addresses.map(({ address }) => ({ ...target, address })),
      null,
    );
  };
  if (!lookup) return findAddresses(host, family, found);
  const all = family === 0 && options.autoSelectFamily !== false;
  lookup(host, { family, hints: options.hints ?? 0, ...(all && { all }) }, (error, result, resultFamily) => {
    if (error) return found(error, []);
    const list: unknown[] = isArray(result) ? result : [{ address: result, family: resultFamily }];
    const wrong = list.length === 0 || list.some((each) => !isAddress(each));
    if (!wrong) return found(null, list as Address[]);
    return found(badArgument("ERR_INVALID_IP_ADDRESS", "the lookup gave something that is no IP address"), []);
  });
}

function isAddress(each: unknown): boolean {
  const address = (each as Partial<Address> | null)?.address;
  // A zone may be of any length.
  return typeof address === "string" && address.length <= MAX_HOST_CHARACTERS && isIP(address) !== 0;
}

function familyOf(family: number | string | undefined): Family {
  if (family === 4 || family === "IPv4") return 4;
  return family === 6 || family === "IPv6" ? 6 : 0;
}
