import { Socket } from "node:net";

import type { OpenedMessage, OpenMessage } from "../../wire/messages.ts";
import { uncurry } from "../../wire/uncurry.ts";
import { errorOf } from "./errors.ts";
import { type Sink, Stream } from "./streams.ts";

const NativeAggregateError = AggregateError;
const { assign } = Object;
const later = setImmediate;
const setSocketTimeout = uncurry(Socket.prototype, "setTimeout");

type Done = (error?: Error | null) => void;

/** What a socket does in place of a handle: its bytes travel on a stream of frames. */
export class Connection implements Sink {
  bytesRead = 0;
  bytesWritten = 0;
  /** Null until the connection stands. */
  ends: OpenedMessage | null = null;
  readonly #socket: Socket;
  /** The name that was asked for, to be told what came of the lookup; null when an address was. */
  #name: string | null = null;
  #stream: Stream | null = null;
  #keepsAlive = true;
  /** Places still to be tried, and what was wrong with those that were. */
  #targets: OpenMessage[] = [];
  #failures: Error[] = [];

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Connects to the first of these that can be reached. @param name What the service looks up on the way */
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
    // Nobody may be reading, and then nobody would hear of the end.
    this.#socket.read(0);
  }

  failed(error: Error): void {
    this.#stream = null;
    if (this.ends) return void this.#socket.destroy(error);
    this.#failures[this.#failures.length] = error;
    // The refusal of the policy says more than what was wrong with the other addresses.
    if (this.#targets.length > 0 && !isDenial(error)) return this.#tryNext();
    const tried = isDenial(error) || this.#failures.length === 1 ? error : allOf(this.#failures);
    if (this.#name !== null && isAboutName(error)) this.#socket.emit("lookup", error, undefined, undefined, this.#name);
    this.#socket.destroy(tried);
  }

  readMore(): void {
    this.#stream?.readMore();
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
    this.#stream!.write(bytes, (error) => {
      if (!error) this.bytesWritten += bytes.length;
      done(error);
    });
  }

  end(done: Done): void {
    if (!this.ends) return void this.#socket.once("connect", () => this.end(done));
    this.#stream?.end();
    // As the kernel is a turn later, and whoever hears of the end of the peer in between can still write.
    later(() => done());
  }

  /** In place of `_destroy`. */
  destroy(error: Error | null, done: Done): void {
    assign(this.#socket, { connecting: false });
    setSocketTimeout(this.#socket, 0);
    this.#stream?.close();
    this.#stream = null;
    this.ends = null;
    done(error);
    // Not in the tick of "error": a handle is closed a turn later, and whoever awaits both in turn relies on it.
    later(() => this.#socket.emit("close", error !== null));
  }

  keepAlive(does: boolean): void {
    this.#keepsAlive = does;
    this.#stream?.keepAlive(does);
  }

  /** Begins the idle time of the socket anew. */
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

function isAboutName(error: NodeJS.ErrnoException): boolean {
  return error.syscall === "getaddrinfo";
}

/** As Node reports that no address of a name could be reached. */
function allOf(failures: NodeJS.ErrnoException[]): Error {
  return assign(new NativeAggregateError(failures), { code: failures[0]!.code });
}
