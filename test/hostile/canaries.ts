import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

/** Targets on the host that every user of the host may access, so that only the sandbox protects them. */
export interface Canaries extends AsyncDisposable {
  /** A secret in a file and in the service's own environment. No answer and no log may contain it. */
  readonly secret: string;
  /** Flags that allow egress to the ports of the canary servers, so that only their addresses are denied. */
  readonly flags: readonly string[];
  /** Replaces the placeholders of an attack, in capitals, with the canaries and the service's port. */
  fill(text: string, port: number): string;
  /** @throws {AssertionError} that names every touched canary. */
  assertUntouched(): void;
}

const KEPT = "as it was";
/** A host without IPv6 has no such target. */
const NO_PORT = 9;

/** Creates the canaries. Must be called before the start of the service, which inherits some of them. */
export async function createCanaries(): Promise<Canaries> {
  const folder = mkdtempSync(path.join(tmpdir(), "canaries-"));
  chmodSync(folder, 0o777);
  // The environment already has one if a service was started before.
  const secret = process.env["CANARY_SECRET"] ?? `secret${randomBytes(12).toString("hex")}`;
  const mark = `planted-${randomBytes(6).toString("hex")}`;
  const [secretFile, openFile, socket] = ["secret", "open", "socket"].map((name) => path.join(folder, name));
  for (const [file, text] of Object.entries({ [secretFile!]: secret, [openFile!]: KEPT })) {
    writeFileSync(file, text);
    chmodSync(file, 0o666);
  }
  process.env["CANARY_SECRET"] = secret;
  const abstract = `\0${mark}`;
  const listeners = await listen([socket!, abstract]);
  chmodSync(socket!, 0o777);
  const sleeper = spawn("sleep", ["infinity"], { stdio: "ignore" });
  const targets: Record<string, string | number> = {
    CANARY_FILE: secretFile!,
    CANARY_OPEN_FILE: openFile!,
    CANARY_FOLDER: folder,
    CANARY_SOCKET: socket!,
    CANARY_ABSTRACT: abstract,
    CANARY_PID: sleeper.pid!,
    SERVICE_PID: process.pid,
    MARK: mark,
    ...listeners.ports,
  };
  const { CANARY_PORT, CANARY_PORT6 } = listeners.ports;
  return {
    secret,
    flags: ["--egress-ports", `80,443,${CANARY_PORT},${CANARY_PORT6}`],
    fill: (text, port) => {
      const known = { ...targets, SERVICE_PORT: port };
      return text.replaceAll(/\b(?:CANARY_[A-Z0-9_]+|SERVICE_(?:PID|PORT)|MARK)\b/g, (name) => literal(known, name));
    },
    assertUntouched: () => {
      assert.deepEqual(listeners.reached, []);
      assert.equal(readFileSync(openFile!, "utf8"), KEPT);
      assert.deepEqual(readdirSync(folder).toSorted(), ["open", "secret", "socket"]);
      const planted = [tmpdir(), "/tmp", "/", process.cwd(), "/dev/shm"].filter((each) => holds(each, mark));
      assert.deepEqual(planted, []);
      assert.equal(sleeper.exitCode ?? sleeper.signalCode, null);
    },
    [Symbol.asyncDispose]: async () => {
      delete process.env["CANARY_SECRET"];
      listeners.close();
      await end(sleeper);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function literal(targets: Readonly<Record<string, string | number>>, name: string): string {
  if (!(name in targets)) throw new TypeError(`unknown canary ${name}`);
  return JSON.stringify(targets[name]);
}

function holds(folder: string, mark: string): boolean {
  try {
    return readdirSync(folder).some((name) => name.includes(mark));
  } catch {
    return false;
  }
}

interface Listeners {
  readonly ports: Readonly<Record<string, number>>;
  /** The touched canaries, in order. */
  readonly reached: readonly string[];
  close(): void;
}

async function listen(paths: readonly string[]): Promise<Listeners> {
  const reached: string[] = [];
  const open = async (what: string, ...where: [string] | [number, string]): Promise<Server | null> => {
    const server = createServer((socket) => {
      reached.push(what);
      socket.destroy();
    });
    const [first, host] = where;
    server.listen(typeof first === "string" ? { path: first } : { port: first, host });
    return once(server, "listening").then(
      () => server,
      () => null,
    );
  };
  const tcp = await open("TCP over IPv4", 0, "127.0.0.1");
  const tcp6 = await open("TCP over IPv6", 0, "::1");
  const unix = await Promise.all(paths.map((each) => open(`the socket ${JSON.stringify(each)}`, each)));
  const udp = createSocket("udp4").on("message", () => reached.push("UDP"));
  udp.bind(0, "127.0.0.1");
  await once(udp, "listening");
  return {
    ports: { CANARY_PORT: portOf(tcp), CANARY_PORT6: portOf(tcp6), CANARY_UDP_PORT: udp.address().port },
    reached,
    close: () => {
      for (const server of [tcp, tcp6, ...unix]) server?.close();
      udp.close();
    },
  };
}

function portOf(server: Server | null): number {
  return (server?.address() as AddressInfo | undefined)?.port ?? NO_PORT;
}

async function end(child: ChildProcess): Promise<void> {
  const exited = child.exitCode === null && child.signalCode === null ? once(child, "exit") : null;
  child.kill("SIGKILL");
  await exited;
}
