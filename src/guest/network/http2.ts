import type http2Module from "node:http2";
import { Socket } from "node:net";

const { assign } = Object;
const { apply } = Reflect;
const NodeSocket = Socket;

type Http2 = typeof http2Module;

/** Delays the "connect" event of an unencrypted session until its socket is connected: Node assumes that a socket without a handle is. */
export function patchHttp2(http2: Http2): void {
  const nodeConnect = http2.connect as (...args: unknown[]) => http2Module.ClientHttp2Session;
  assign(http2, {
    connect: (...args: unknown[]) => waitingForSocket(apply(nodeConnect, http2, args)),
  });
}

function waitingForSocket(session: http2Module.ClientHttp2Session): http2Module.ClientHttp2Session {
  const emit = session.emit.bind(session) as (...args: unknown[]) => boolean;
  const emitWhenConnected = (...args: unknown[]): boolean => {
    // Node passes a wrapper of the socket.
    const socket = args[0] === "connect" ? (args[2] as { stream?: unknown } | undefined)?.stream : undefined;
    if (!(socket instanceof NodeSocket) || !socket.connecting) return emit(...args);
    socket.once("connect", () => emit(...args));
    return true;
  };
  return assign(session, { emit: emitWhenConnected });
}
