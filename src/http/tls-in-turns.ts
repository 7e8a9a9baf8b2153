import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import type { Server as TlsServer } from "node:tls";
import { type TLSSocket } from "node:tls";

/** The bytes that a connection may send without any data in them, for example for its handshake. */
const FREE_BYTES = 64 << 10;
/** The bytes that a connection may send for each byte of data. A record with one byte has 22. */
const BYTES_A_BYTE = 32;

const transports = new WeakMap<Socket, Socket>();

/** Returns the TCP connection below a decrypted socket, or the socket itself without TLS. */
export function transportOf(socket: Socket): Socket {
  return transports.get(socket) ?? socket;
}

/**
 * Makes a TLS server read its connections as streams. Node's TLS reads directly from the kernel otherwise: it would handle all
 * handshakes, and all records of 16 KiB of each connection, before other callers get a turn. A thousand handshakes take half a
 * second.
 *
 * @param onTransport called with each TCP connection before a byte of it is read
 * @param onSecured called when the handshake has ended, before `secureConnection`
 */
export function readTlsAsStreams(
  server: TlsServer,
  onTransport: (transport: Socket) => void,
  onSecured: (socket: TLSSocket, transport: Socket) => void,
): void {
  const [secure] = server.listeners("connection") as [(this: TlsServer, stream: Duplex) => void];
  server.off("connection", secure);
  server.on("connection", (transport: Socket) => {
    onTransport(transport);
    if (transport.destroyed) return;
    // Node names the TCP connection of a decrypted socket only by way of the server that it reports to.
    const own = Object.create(server, {
      emit: {
        value: (event: string, ...args: unknown[]): boolean => {
          if (event === "secureConnection") {
            const socket = args[0] as TLSSocket;
            transports.set(socket, transport);
            stream.secured = socket;
            onSecured(socket, transport);
          }
          return server.emit(event, ...args);
        },
      },
    }) as TlsServer;
    const stream = new EncryptedStream(transport);
    secure.call(own, stream);
  });
}

/** The encrypted bytes of a TCP connection. A `Socket` would be read by Node's TLS directly. */
class EncryptedStream extends Duplex {
  /** The decrypted socket, after the handshake. */
  secured: TLSSocket | null = null;
  readonly #transport: Socket;
  #bytes = 0;

  constructor(transport: Socket) {
    super({ allowHalfOpen: transport.allowHalfOpen, readableHighWaterMark: 1 });
    this.#transport = transport;
    transport.on("data", (chunk: Buffer) => this.#receive(chunk));
    transport.on("end", () => this.push(null));
    transport.on("error", (error) => this.destroy(error));
    transport.on("close", () => this.destroy());
  }

  /**
   * Ends a connection that sends almost nothing but records without data. Each of them can request an answer, which waits in
   * memory for a client that reads nothing.
   */
  #receive(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > FREE_BYTES && this.#bytes > FREE_BYTES + BYTES_A_BYTE * (this.secured?.bytesRead ?? 0)) {
      this.destroy();
    } else if (!this.push(chunk)) this.#transport.pause();
  }

  override _read(): void {
    this.#transport.resume();
  }

  override _write(chunk: Buffer, _: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#transport.write(chunk, callback);
  }

  override _writev(chunks: { chunk: Buffer }[], callback: (error?: Error | null) => void): void {
    this.#transport.cork();
    for (const { chunk } of chunks.slice(0, -1)) this.#transport.write(chunk);
    this.#transport.write(chunks.at(-1)!.chunk, callback);
    this.#transport.uncork();
  }

  override _final(callback: () => void): void {
    this.#transport.end(callback);
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#transport.destroy();
    callback(error);
  }
}
