import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { getCompileCacheDir } from "node:module";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Readable } from "node:stream";

import type { GuestKind } from "../guest-kinds.ts";
import type { SandboxOptions } from "../local-sandbox.ts";
import type { GuestExit, GuestProcess, GuestStatus, GuestUse, Priority, Sandbox } from "../sandbox.ts";
import { processTag } from "../temp/process-tag.ts";
import { RUN_FOLDER } from "../temp/run-folder.ts";
import { GREETING_BYTES, type Reply, type Request } from "./launcher-messages.ts";

const PROGRAM = path.join(import.meta.dirname, `launcher-process${path.extname(import.meta.filename)}`);
const QUIET = "--disable-warning=ExperimentalWarning";
/** The characters at the end of what a launcher has printed that an error quotes. */
const PRINTED_CHARACTERS = 2_000;
const LOST: GuestExit = { how: "the launcher ended", outOfMemory: false };

/**
 * Opens a sandbox in a launcher: a small process that keeps root, so that this process can give it up. The launcher starts
 * guests, with their users and control groups. They connect to a socket of this process that only root can reach.
 *
 * When the channel to the launcher closes, it ends its guests and itself. The channel closes however this process ends.
 *
 * @param onLost is called when the launcher ends unexpectedly, because no guest can be started then.
 * @throws {Error} that names what is missing and how to get it.
 */
export async function openLauncher(options: SandboxOptions, onLost: (error: Error) => void): Promise<Sandbox> {
  const folder = await mkdtemp(path.join(tmpdir(), processTag(RUN_FOLDER)));
  const server = createServer();
  try {
    server.listen(path.join(folder, "guests.sock"));
    await once(server, "listening");
    const { PATH, TMPDIR } = process.env;
    const cache = getCompileCacheDir();
    const child = spawn(process.execPath, [QUIET, PROGRAM, JSON.stringify(options), server.address() as string], {
      // With the standard error of this process, Node would make the writes of this process to its log block when the launcher ends.
      stdio: ["ignore", "ignore", "pipe", "ipc"],
      cwd: "/",
      // A signal to this process's group, such as Ctrl-C, must not end guests while the service lets their runs finish.
      detached: true,
      env: {
        PATH,
        ...(TMPDIR === undefined ? {} : { TMPDIR }),
        ...(cache === undefined ? {} : { NODE_COMPILE_CACHE: cache }),
      },
    });
    const ended = once(child, "exit");
    const printed = lastPrinted(child.stderr!);
    const opened = await firstReply(child, ended, printed);
    const launcher = new Launcher(child, server, printed);
    void ended.then(() => launcher.lose(onLost));
    return {
      facts: opened.facts,
      launch: (kind) => launcher.launch(kind),
      close: async () => {
        launcher.close();
        await ended;
      },
    };
  } catch (error) {
    server.close();
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Reads what the launcher prints. @returns a function that returns the end of it, for an error: empty if nothing was printed */
function lastPrinted(stderr: Readable): () => string {
  let text = "";
  stderr.setEncoding("utf8").on("data", (chunk: string) => (text = (text + chunk).slice(-PRINTED_CHARACTERS)));
  return () => (text.trim() === "" ? "" : `; it printed: ${text.trim()}`);
}

async function firstReply(
  child: ChildProcess,
  ended: Promise<unknown>,
  printed: () => string,
): Promise<Reply & { is: "open" }> {
  const [reply] = (await Promise.race([once(child, "message"), ended.then(() => [null])])) as [Reply | null];
  if (reply?.is === "open") return reply;
  throw new Error(reply?.is === "refused" ? reply.message : `the launcher ended before it was ready${printed()}`);
}

class Launcher {
  readonly #child: ChildProcess;
  readonly #server: Server;
  readonly #printed: () => string;
  readonly #guests: Map<number, LaunchedGuest> = new Map();
  #started = 0;
  #closed = false;

  constructor(child: ChildProcess, server: Server, printed: () => string) {
    this.#child = child;
    this.#server = server;
    this.#printed = printed;
    // The server does not keep the process alive.
    server.unref();
    server.on("connection", (socket) => this.#readGreeting(socket));
    child.on("message", (reply: Reply) => this.#receive(reply));
    child.on("error", () => {});
  }

  async launch(kind: GuestKind = "task"): Promise<GuestProcess> {
    if (this.#closed) throw new Error("no process could be started: the launcher has ended");
    const number = ++this.#started;
    const guest = new LaunchedGuest((what) => this.#request({ do: what, guest: number }));
    this.#guests.set(number, guest);
    this.#request({ do: "launch", guest: number, kind });
    await guest.connected;
    return guest;
  }

  close(): void {
    this.#closed = true;
    this.#server.close();
    if (this.#child.connected) this.#child.disconnect();
  }

  lose(onLost: (error: Error) => void): void {
    for (const [number] of this.#guests) this.#receive({ is: "exited", guest: number, exit: LOST });
    if (this.#closed) return;
    this.close();
    onLost(new Error(`the launcher ended: no container can be started any more${this.#printed()}`));
  }

  #request(request: Request): void {
    if (this.#child.connected) this.#child.send(request, () => {});
  }

  /** Reads the greeting of a new connection, and passes the connection to its guest. */
  #readGreeting(socket: Socket): void {
    socket.on("error", () => {});
    const read = (): void => {
      const greeting = socket.read(GREETING_BYTES) as Buffer | null;
      if (greeting === null) return;
      socket.off("readable", read);
      const guest = this.#guests.get(greeting.readUInt32LE());
      if (guest) guest.connect(socket);
      else socket.destroy();
    };
    socket.on("readable", read);
  }

  #receive(reply: Reply): void {
    if (!("guest" in reply)) return;
    const guest = this.#guests.get(reply.guest);
    if (reply.is === "exited") this.#guests.delete(reply.guest);
    guest?.receive(reply);
  }
}

class LaunchedGuest implements GuestProcess {
  readonly exited: Promise<GuestExit>;
  readonly connected: Promise<void>;
  readonly #request: (what: Request["do"]) => void;
  readonly #sealed: PromiseWithResolvers<void> = Promise.withResolvers();
  readonly #inspections: ((status: GuestStatus | null) => void)[] = [];
  readonly #measurements: ((use: GuestUse | null) => void)[] = [];
  readonly #weighings: ((tmpfsBytes: number) => void)[] = [];
  readonly #interrupts: ((stack: string) => void)[] = [];
  readonly #connected: PromiseWithResolvers<void> = Promise.withResolvers();
  readonly #exited: PromiseWithResolvers<GuestExit> = Promise.withResolvers();
  #socket: Socket | null = null;
  #gone = false;

  constructor(request: (what: Request["do"]) => void) {
    this.#request = request;
    this.connected = this.#connected.promise;
    this.exited = this.#exited.promise;
    this.#sealed.promise.catch(() => {});
  }

  get socket(): Socket {
    if (!this.#socket) throw new TypeError("the guest has not connected");
    return this.#socket;
  }

  seal(): Promise<void> {
    this.#request("seal");
    return this.#sealed.promise;
  }

  setPriority(priority: Priority): void {
    if (!this.#gone) this.#request(priority);
  }

  inspect(): Promise<GuestStatus | null> {
    if (this.#gone) return Promise.resolve(null);
    return new Promise((resolve) => {
      this.#inspections.push(resolve);
      this.#request("inspect");
    });
  }

  measure(): Promise<GuestUse | null> {
    if (this.#gone) return Promise.resolve(null);
    return new Promise((resolve) => {
      this.#measurements.push(resolve);
      this.#request("measure");
    });
  }

  tmpfsBytes(): Promise<number> {
    if (this.#gone) return Promise.resolve(0);
    return new Promise((resolve) => {
      this.#weighings.push(resolve);
      this.#request("weigh");
    });
  }

  interrupt(): Promise<string> {
    if (this.#gone) return Promise.resolve("");
    return new Promise((resolve) => {
      this.#interrupts.push(resolve);
      this.#request("interrupt");
    });
  }

  kill(): void {
    if (!this.#gone) this.#request("kill");
  }

  connect(socket: Socket): void {
    this.#socket = socket;
    this.#connected.resolve();
  }

  receive(reply: Extract<Reply, { guest: number }>): void {
    switch (reply.is) {
      case "sealed":
        if (reply.fault === null) return this.#sealed.resolve();
        return this.#sealed.reject(new Error(reply.fault));
      case "inspected":
        return this.#inspections.shift()?.(reply.status);
      case "measured":
        return this.#measurements.shift()?.(reply.use);
      case "weighed":
        return this.#weighings.shift()?.(reply.tmpfsBytes);
      case "interrupted":
        return this.#interrupts.shift()?.(reply.stack);
      case "exited":
        this.#gone = true;
        this.#connected.reject(new Error(`no process could be started: ${reply.exit.how}`));
        this.#sealed.reject(new Error(reply.exit.how));
        for (const resolve of this.#inspections.splice(0)) resolve(null);
        for (const resolve of this.#measurements.splice(0)) resolve(null);
        for (const resolve of this.#weighings.splice(0)) resolve(0);
        for (const resolve of this.#interrupts.splice(0)) resolve("");
        return this.#exited.resolve(reply.exit);
    }
  }
}
