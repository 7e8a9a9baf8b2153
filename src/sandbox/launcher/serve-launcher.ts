import { once } from "node:events";
import { rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import path from "node:path";

import type { GuestKind } from "../guest-kinds.ts";
import {
  checkGuestLimit,
  endAll,
  type SandboxOptions,
  type StartedGuest,
  type LocalSandbox,
} from "../local-sandbox.ts";
import { openLocalSandbox } from "../open-local-sandbox.ts";
import { closeInheritedDescriptors } from "./descriptors.ts";
import { GREETING_BYTES, KINDS, type Reply, type Request, REQUESTS } from "./launcher-messages.ts";

const [, , optionsJson, socketFile] = process.argv as [string, string, string, string];
const options = JSON.parse(optionsJson) as SandboxOptions;
/** The guests by number; null for a guest that could not be started. */
const guests = new Map<number, Promise<StartedGuest | null>>();
let sandbox: LocalSandbox;

/**
 * Serves in the process that keeps root for a service that has given up root. It starts and ends guests, and reads no input from the
 * network or from a guest.
 *
 * @param keep keeps the compiled code of this process for the next start
 */
export async function serveLauncher(keep: () => void = () => {}): Promise<never> {
  const closed = once(process, "disconnect");
  // A signal to the whole process group is for the service. It lets its runs end first, and then closes the channel.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
  closeInheritedDescriptors();
  sandbox = await open();
  // The parent is the service only while the channel is connected.
  await sandbox.prefer(process.connected ? [process.pid, process.ppid] : []);
  process.on("message", (request: Partial<Request> | null) => {
    // Check the request, because an attacker may control the service.
    const { guest, do: what, kind = "task" } = request ?? {};
    if (Number.isInteger(guest) && REQUESTS.has(what!) && KINDS.has(kind))
      void serve({ do: what!, guest: guest!, kind });
  });
  reply({ is: "open", facts: sandbox.facts });
  await closed;
  await endAll((await Promise.all(guests.values())).filter((guest) => guest !== null));
  await sandbox.close();
  await rm(path.dirname(socketFile), { recursive: true, force: true });
  keep();
  return process.exit(0);
}

async function open(): Promise<LocalSandbox> {
  try {
    return await openLocalSandbox(options);
  } catch (error) {
    return refuse((error as Error).message);
  }
}

async function refuse(message: string): Promise<never> {
  await rm(path.dirname(socketFile), { recursive: true, force: true });
  await new Promise((sent) => process.send?.({ is: "refused", message } satisfies Reply, sent));
  return process.exit(1);
}

async function serve({ do: what, guest: number, kind }: Required<Request>): Promise<void> {
  if (what === "launch") return launch(number, kind);
  const guest = await guests.get(number);
  switch (what) {
    case "seal":
      return reply({ is: "sealed", guest: number, fault: guest ? await faultOf(guest.seal()) : "the guest is gone" });
    case "inspect":
      return reply({ is: "inspected", guest: number, status: (await guest?.inspect()) ?? null });
    case "measure":
      return reply({ is: "measured", guest: number, use: (await guest?.measure()) ?? null });
    case "weigh":
      return reply({ is: "weighed", guest: number, tmpfsBytes: (await guest?.tmpfsBytes()) ?? 0 });
    case "interrupt":
      return reply({ is: "interrupted", guest: number, stack: (await guest?.interrupt()) ?? "" });
    case "kill":
      return guest?.kill();
    default:
      return guest?.setPriority(what);
  }
}

async function launch(number: number, kind: GuestKind): Promise<void> {
  // If another guest got the same number, requests could not reach this guest, and it would outlive its files.
  if (guests.has(number)) return;
  try {
    checkGuestLimit(guests.size, options);
  } catch (error) {
    return reply({ is: "exited", guest: number, exit: { how: (error as Error).message, outOfMemory: false } });
  }
  const starting = start(number, kind);
  guests.set(
    number,
    starting.catch(() => null),
  );
  try {
    const guest = await starting;
    reply({ is: "exited", guest: number, exit: await guest.exited });
  } catch (error) {
    reply({ is: "exited", guest: number, exit: { how: (error as Error).message, outOfMemory: false } });
  } finally {
    guests.delete(number);
  }
}

async function start(number: number, kind: GuestKind): Promise<StartedGuest> {
  // Paused, because only the service reads the guest's frames.
  const frames = connect(socketFile).pause();
  // A service that is out of descriptors closes the connection immediately, and the greeting fails. An error event without
  // a listener would end this process and all guests.
  frames.on("error", () => {});
  try {
    await once(frames, "connect");
    // Send the greeting before the guest starts, so that the guest cannot send bytes first.
    await greet(frames, number);
    return sandbox.start(frames, kind);
  } finally {
    frames.destroy();
  }
}

function greet(frames: Socket, number: number): Promise<void> {
  const greeting = Buffer.alloc(GREETING_BYTES);
  greeting.writeUInt32LE(number);
  return new Promise((resolve, reject) => {
    frames.write(greeting, (error) => (error ? reject(error) : resolve()));
  });
}

async function faultOf(work: Promise<void>): Promise<string | null> {
  return work.then(
    () => null,
    (error: unknown) => (error as Error).message,
  );
}

function reply(message: Reply): void {
  if (process.connected) process.send!(message, () => {});
}
