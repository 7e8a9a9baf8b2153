import { Socket } from "node:net";

import type { OpenedMessage, OpenMessage } from "../../wire/messages.ts";
import { uncurry } from "../../wire/uncurry.ts";
import { carrier } from "./carrier.ts";
import { errorOf } from "./network-errors.ts";
import { type Sink, Stream } from "./streams.ts";

const NativeAggregateError = AggregateError;
const { assign } = Object;
const later = setImmediate;
const setSocketTimeout = uncurry(Socket.prototype, "setTimeout");

type Done = (error?: Error | null) => void;

/** Replaces the handle of a socket. The bytes of the socket go through a stream of frames. */
export class Connection implements Sink {
  bytesRead = 0;
  bytesWritten = 0;
  /** Null until the connection is established. */
  ends: OpenedMessage | null = null;
  readonly #socket: Socket;
  /** The name that the service resolves, for the "lookup" event; null if the target is an address. */
  #name: string | null = null;
  #stream: Stream | null = null;
  #keepsAlive = true;
  /** The run that sends, if TLS writes for it; null if the code of the run writes. */
  #sender: number | null = null;
  /** The targets that were not tried yet. */
  #targets: OpenMessage[] = [];
  /** The errors of the targets that were tried. */
  #failures: Error[] = [];

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Connects to the first target that can be reached. @param name The name that the service resolves, or null. */
  open(targets: OpenMessage[], name: string | null): void {
    this.#targets = targets;
    this.#name = name;
    this.#tryNext();
  }

  opened(ends: OpenedMessage): void {
    const socket = this.#socket;
    if (socket.destroyed) return;
    this.ends = ends;
    this.touch();
    if (this.#name !== null) socket.emit("lookup", null, ends.remoteAddress, familyOf(ends), this.#name);
    if (isBlocked(socket, ends)) {
      const message = `IP(${ends.remoteAddress}) is blocked by net.BlockList`;
      return void socket.destroy(errorOf({ message, code: "ERR_IP_BLOCKED" }));
    }
    assign(socket, { connecting: false });
    socket.emit("connect");
    socket.emit("ready");
    if (socket.readable && !socket.isPaused()) socket.read(0);
  }

  received(bytes: Buffer): boolean {
    this.bytesRead += bytes.length;
    this.touch();
    return this.#socket.push(bytes);
  }

  ended(): void {
    this.#socket.push(null);
    // Without a pending read, the socket would not emit "end".
    this.#socket.read(0);
  }

  failed(error: Error): void {
    this.#stream = null;
    if (this.ends) return void this.#socket.destroy(error);
    this.#failures[this.#failures.length] = error;
    // The policy's refusal is more informative than the errors of the other addresses.
    if (this.#targets.length > 0 && !isDenial(error)) return this.#tryNext();
    const reported = isDenial(error) || this.#failures.length === 1 ? error : aggregate(this.#failures);
    if (this.#name !== null && isLookupError(error)) {
      this.#socket.emit("lookup", error, undefined, undefined, this.#name);
    }
    this.#socket.destroy(reported);
  }

  readMore(): void {
    this.#stream?.readMore();
  }

  /** Notes the run of the executing code as the sender of what is written from now on, in whatever context it is written. */
  noteSender(): void {
    this.#sender = carrier().payer();
  }

  write(bytes: Uint8Array, done: Done): void {
    const socket = this.#socket;
    if (!this.ends) {
      const onClose = (): void => done(closedEarly());
      socket.once("close", onClose);
      socket.once("connect", () => {
        socket.off("close", onClose);
        this.write(bytes, done);
      });
      return;
    }
    this.touch();
    this.#stream!.write(bytes, this.#sender ?? carrier().payer(), (error) => {
      if (!error) this.bytesWritten += bytes.length;
      done(error);
    });
  }

  end(done: Done): void {
    if (!this.ends) return void this.#socket.once("connect", () => this.end(done));
    this.#stream?.end();
    // A turn later, as with a kernel socket: a listener of the peer's end in between can still write.
    later(() => done());
  }

  /** Replaces `_destroy`. */
  destroy(error: Error | null, done: Done): void {
    assign(this.#socket, { connecting: false });
    setSocketTimeout(this.#socket, 0);
    this.#stream?.close();
    this.#stream = null;
    this.ends = null;
    done(error);
    // Not in the tick of "error": Node closes a handle a turn later, and code that awaits "error" and then "close" relies on it.
    later(() => this.#socket.emit("close", error !== null));
  }

  keepAlive(keepsAlive: boolean): void {
    this.#keepsAlive = keepsAlive;
    this.#stream?.keepAlive(keepsAlive);
  }

  /** Restarts the idle timeout of the socket. */
  touch(): void {
    const { timeout } = this.#socket;
    if (timeout) setSocketTimeout(this.#socket, timeout);
  }

  #tryNext(): void {
    const [target, ...rest] = this.#targets;
    this.#targets = rest;
    if (!target || this.#socket.destroyed) return;
    this.#stream = new Stream(target, this);
    this.#stream.keepAlive(this.#keepsAlive);
  }
}

function closedEarly(): Error {
  const message = "Socket closed before the connection was established";
  return errorOf({ message, code: "ERR_SOCKET_CLOSED_BEFORE_CONNECTION" });
}

function familyOf(ends: OpenedMessage): number {
  return ends.remoteFamily === "IPv6" ? 6 : 4;
}

function isBlocked(socket: Socket, ends: OpenedMessage): boolean {
  const { blockList } = socket as { blockList?: { check(address: string, family: string): boolean } };
  return blockList?.check(ends.remoteAddress, `ipv${familyOf(ends)}`) ?? false;
}

function isDenial(error: NodeJS.ErrnoException): boolean {
  return error.code === "EGRESS_DENIED";
}

function isLookupError(error: NodeJS.ErrnoException): boolean {
  return error.syscall === "getaddrinfo";
}

/** Makes the error that Node reports when no address of a name can be reached. */
function aggregate(failures: NodeJS.ErrnoException[]): Error {
  return assign(new NativeAggregateError(failures), { code: failures[0]!.code });
}
