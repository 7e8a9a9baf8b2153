import { Socket, type TcpSocketConnectOpts } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket as NodeTLSSocket } from "node:tls";
import type tlsModule from "node:tls";

import { connectArguments, type ConnectOptions } from "./arguments.ts";
import { connectionOf } from "./connect.ts";
import { feedOwnBuffer } from "./onread.ts";
import { addressOf, END_NAMES, own, ownGetters } from "./take-over.ts";

const NativeProxy = Proxy;
const { assign } = Object;
const { apply, construct } = Reflect;
const NodeSocket = Socket;
const later = process.nextTick.bind(process);
const { _write: writeOne, _writev: writeMany } = Socket.prototype as unknown as Record<
  "_write" | "_writev",
  () => unknown
>;

type Tls = typeof tlsModule;
interface TlsOptions extends ConnectOptions {
  socket?: Duplex;
  allowHalfOpen?: boolean;
  signal?: AbortSignal;
  timeout?: number;
}

/** Makes TLS use a socket that connects through the service, instead of creating a handle. */
export function patchTls(tls: Tls): void {
  const NodeTLSSocket = tls.TLSSocket;
  const nodeConnect = tls.connect as (options: object, callback?: () => void) => NodeTLSSocket;
  const TLSSocket: Tls["TLSSocket"] = new NativeProxy(NodeTLSSocket, {
    construct: (target, args, newTarget): NodeTLSSocket =>
      adopt(construct(target, args, newTarget === TLSSocket ? target : newTarget) as NodeTLSSocket, args[0]),
    apply: (target, self, args) => apply(target as unknown as () => unknown, self, args),
  });

  function connect(...args: unknown[]): NodeTLSSocket {
    const { options: connectOptions, callback } = connectArguments(args);
    const options: TlsOptions = assign({}, connectOptions, optionsAmong(args));
    if (options.socket) return adopt(connectOver(options.socket), options.socket);
    const raw = new NodeSocket({ allowHalfOpen: options.allowHalfOpen ?? false });
    const secured = connectOver(raw);
    try {
      // `onread` receives the decrypted bytes, so the raw socket must not have it.
      raw.connect({ ...options, onread: undefined } as unknown as TcpSocketConnectOpts);
    } catch (error) {
      secured.destroy();
      throw error;
    }
    if (options.timeout) secured.setTimeout(options.timeout);
    if (options.onread) feedOwnBuffer(secured, options.onread);
    secured.once("close", () => raw.destroy());
    return adopt(secured, raw);

    function connectOver(socket: Duplex): NodeTLSSocket {
      return callback ? nodeConnect({ ...options, socket }, callback) : nodeConnect({ ...options, socket });
    }
  }
  assign(tls, { connect, TLSSocket });
}

/** Returns the options, which may follow a port, or a port and a host. */
function optionsAmong(args: readonly unknown[]): object | undefined {
  for (let index = 1; index < args.length; index += 1) {
    if (typeof args[index] === "object" && args[index] !== null) return args[index] as object;
  }
  return undefined;
}

/** Forwards the state of the raw socket, for example its addresses, to the TLS socket above it. */
function adopt(secured: NodeTLSSocket, raw: unknown): NodeTLSSocket {
  if (!(raw instanceof NodeSocket)) return secured;
  const connection = connectionOf(raw);
  if (!connection || secured.destroyed) return secured;
  // Node assumes that a socket without a handle is still connecting.
  if (!raw.connecting) {
    later(() => {
      assign(secured, { connecting: false });
      secured.emit("connect");
    });
  }
  own(secured, {
    // TLS writes what it has encrypted in the context of the run that connected.
    _write: (...args: unknown[]) => {
      connection.noteSender();
      apply(writeOne, secured, args);
    },
    _writev: (...args: unknown[]) => {
      connection.noteSender();
      apply(writeMany, secured, args);
    },
    ref: () => {
      raw.ref();
      return secured;
    },
    unref: () => {
      raw.unref();
      return secured;
    },
    address: () => addressOf(connection.ends),
  });
  for (let index = 0; index < END_NAMES.length; index += 1) {
    const name = END_NAMES[index]!;
    ownGetters(secured, { [name]: () => connection.ends?.[name] });
  }
  return secured;
}
