import { isIP, Socket } from "node:net";

import type { OpenMessage } from "../../wire/messages.ts";
import { uncurry } from "../../wire/uncurry.ts";
import { connectArguments, type ConnectOptions } from "./arguments.ts";
import { Connection } from "./connection.ts";
import { type Address, type Family, findAddresses, MAX_HOST_CHARACTERS } from "./lookups.ts";
import { badArgument, denied, errorOf, notFound } from "./network-errors.ts";
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
const store = uncurry(WeakMap.prototype, "set") as (map: typeof connections, socket: Socket, value: Connection) => void;

/** The `lookup` functions that only ask the service, which then resolves the name when it connects. */
const serviceLookups: unknown[] = [];

/** Returns the connection of a socket, or undefined if the socket has no connection through the service. */
export function connectionOf(socket: Socket): Connection | undefined {
  return find(connections, socket);
}

/** Registers a function that, as the `lookup` option, only asks the service. */
export function registerServiceLookup(lookup: unknown): void {
  serviceLookups[serviceLookups.length] = lookup;
}

/** Makes every socket connect through the service. */
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

/** Returns an error for connections that no policy can allow; otherwise null. */
function refusalOf(socket: Socket, { path, localAddress, localPort }: ConnectOptions): Error | null {
  if (path != null) {
    return denied(`connect to the Unix socket ${path} is not possible: a task can connect to hosts and ports only`);
  }
  if (localAddress || localPort) {
    return denied("localAddress and localPort cannot be set: the service makes the connection");
  }
  const { _handle: handle, encrypted } = socket as { _handle?: unknown; encrypted?: boolean };
  if (encrypted) return denied("a TLSSocket cannot connect by itself: use tls.connect, or pass it a connected socket");
  if (handle) return denied("a socket with a file descriptor cannot connect: use a new socket");
  const previous = connectionOf(socket);
  return previous && !socket.destroyed
    ? errorOf({ message: "connect EISCONN", code: "EISCONN", syscall: "connect" })
    : null;
}

/** Gives the socket a connection: the first, or a new connection after the socket was closed. */
function begin(socket: Socket, options: ConnectOptions): Connection {
  const isFirst = !connectionOf(socket);
  // Node's `connect` does the same for a socket that is reused.
  undestroy(socket);
  delete (socket as Partial<Socket>).write;
  const connection = new Connection(socket);
  store(connections, socket, connection);
  takeOver(socket, connection);
  if (options.onread && isFirst) feedOwnBuffer(socket, options.onread);
  connection.touch();
  return connection;
}

/** Opens the connection. The service resolves the name, unless the task selects a family or has its own lookup. */
function findTargets(socket: Socket, connection: Connection, target: OpenMessage, options: ConnectOptions): void {
  const { host } = target;
  assign(socket, { _host: host });
  const family = familyOf(options.family);
  const lookup = options.lookup && !serviceLookups.includes(options.lookup) ? options.lookup : null;
  const isName = isIP(host) === 0;
  if (host.length > MAX_HOST_CHARACTERS) return later(() => void socket.destroy(notFound(host)));
  if (!isName || (family === 0 && !lookup)) return connection.open([target], isName ? host : null);

  const onAddresses = (error: Error | null, addresses: Address[]): void => {
    socket.emit("lookup", error, addresses[0]?.address, addresses[0]?.family, host);
    if (!socket.connecting || socket.destroyed) return;
    if (error) return later(() => void socket.destroy(error));
    connection.open(
      addresses.map(({ address }) => ({ ...target, address })),
      null,
    );
  };
  if (!lookup) return findAddresses(host, family, onAddresses);
  const all = family === 0 && options.autoSelectFamily !== false;
  lookup(host, { family, hints: options.hints ?? 0, ...(all && { all }) }, (error, result, resultFamily) => {
    if (error) return onAddresses(error, []);
    const list: unknown[] = isArray(result) ? result : [{ address: result, family: resultFamily }];
    const isValid = list.length > 0 && list.every((each) => isAddress(each));
    if (isValid) return onAddresses(null, list as Address[]);
    return onAddresses(
      badArgument("ERR_INVALID_IP_ADDRESS", "the lookup returned a value that is not an IP address"),
      [],
    );
  });
}

function isAddress(each: unknown): boolean {
  const address = (each as Partial<Address> | null)?.address;
  // The length is checked too, because an IPv6 zone may be of any length.
  return typeof address === "string" && address.length <= MAX_HOST_CHARACTERS && isIP(address) !== 0;
}

function familyOf(family: number | string | undefined): Family {
  if (family === 4 || family === "IPv4") return 4;
  return family === 6 || family === "IPv6" ? 6 : 0;
}
