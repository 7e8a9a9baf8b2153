import { rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

import type { BackupSource } from "./backup-source.ts";
import { ByteReader } from "./byte-reader.ts";
import { type Frame, LINE_BYTES, type Request } from "./frame.ts";
import type { Part } from "./part.ts";
import { partsOf, removeUnfinishedCopies } from "./parts-of.ts";
import { SocketPath } from "./socket-path.ts";

/** The time after which a connection without progress is closed. The command may wait for a slow receiver of its output. */
const IDLE_MS = 600_000;
/** A second backup waits for nothing and is refused. Above this number, the oldest connection that has asked for nothing is closed. */
const MOST_CONNECTIONS = 8;

/**
 * Gives the content of the data folder to processes of this machine that may open a socket in it: the service's user, and root.
 * No other interface of the service gives out keys.
 */
export class BackupServer {
  readonly #source: BackupSource;
  #path: SocketPath | null = null;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** The connections without a request, the oldest first. Otherwise they would take the place of a backup for minutes. */
  readonly #silent = new Set<Socket>();
  #running: Promise<void> = Promise.resolve();
  #isBusy = false;

  /**
   * Listens on the socket. The process must have locked the folder, and must be of the user that owns it.
   *
   * @param onFailure is called if the socket cannot be opened, as on a file system without sockets. The service works without it.
   */
  constructor(source: BackupSource, onFailure: (error: Error) => void) {
    this.#source = source;
    removeUnfinishedCopies(source.history);
    this.#server = createServer((socket) => void this.#accept(socket));
    this.#server.on("error", onFailure).unref();
    try {
      this.#listen();
    } catch (error) {
      onFailure(error as Error);
    }
  }

  /** Ends a running backup and closes the socket. */
  async close(): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await this.#running;
    this.#path?.[Symbol.dispose]();
  }

  #listen(): void {
    this.#path = new SocketPath(this.#source.folder);
    // A service that was killed has left it.
    rmSync(this.#path.path, { force: true });
    // The kernel gives the socket the rights that the mask leaves, and `listen` creates it before it returns.
    const mask = process.umask(0o177);
    try {
      this.#server.listen(this.#path.path);
    } finally {
      process.umask(mask);
    }
  }

  async #accept(socket: Socket): Promise<void> {
    this.#sockets.add(socket);
    socket.on("error", () => {}).setTimeout(IDLE_MS, () => socket.destroy());
    this.#silent.add(socket);
    socket.on("close", () => this.#sockets.delete(socket) && this.#silent.delete(socket));
    const [oldest] = this.#silent;
    if (this.#sockets.size > MOST_CONNECTIONS) oldest!.destroy();
    try {
      const line = await new ByteReader(socket as AsyncIterable<Buffer>).line(LINE_BYTES);
      this.#silent.delete(socket);
      const request = JSON.parse(line ?? "null") as Request;
      if (this.#isBusy) socket.end(lineOf({ error: "another backup is running" }));
      else await (this.#running = this.#answer(socket, request));
    } catch {
      socket.destroy();
    }
  }

  async #answer(socket: Socket, { withoutRecords }: Request): Promise<void> {
    this.#isBusy = true;
    const warnings: string[] = [];
    const parts = partsOf(this.#source, { withoutRecords }, (warning) => warnings.push(warning));
    try {
      await pipeline(Readable.from(framesOf(parts, warnings)), socket);
    } catch {
      // The command has gone, or it sees that the answer ends early.
      socket.destroy();
    } finally {
      // Waits for the copy that is being made, and removes it.
      await parts.return(undefined).catch(() => {});
      this.#isBusy = false;
    }
  }
}

async function* framesOf(parts: AsyncIterable<Part>, warnings: string[]): AsyncGenerator<Buffer> {
  let isInside = false;
  const newWarnings = (): Buffer[] => warnings.splice(0).map((warning) => lineOf({ warning }));
  try {
    for await (const { name, bytes, content } of parts) {
      yield* newWarnings();
      yield lineOf({ part: name, bytes });
      isInside = true;
      yield* content;
      isInside = false;
    }
    yield* newWarnings();
    yield lineOf({ end: true });
  } catch (error) {
    if (isInside) throw error;
    yield lineOf({ error: error instanceof Error ? error.message : String(error) });
  }
}

function lineOf(frame: Frame): Buffer {
  return Buffer.from(`${JSON.stringify(frame)}\n`);
}
