import { once } from "node:events";
import { rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import path from "node:path";

import { endAll, refuseMore, type SandboxOptions, type StartedGuest, type LocalSandbox } from "../local-sandbox.ts";
import { openLocalSandbox } from "../open-local-sandbox.ts";
import { closeInheritedDescriptors } from "./descriptors.ts";
import { GREETING_BYTES, type Reply, type Request, REQUESTS } from "./launcher-messages.ts";

/**
 * The process that keeps root beside a service that has given it up: starts guests and ends them, and reads nothing that
 * comes from the network or from a guest.
 */

const [, , given, socketFile] = process.argv as [string, string, string, string];
const options = JSON.parse(given) as SandboxOptions;
/** Null for one that never came to be. */
const guests = new Map<number, Promise<StartedGuest | null>>();
const closed = once(process, "disconnect");

// Whoever signals the whole group means the service, which lets its runs end first and then closes the channel.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
closeInheritedDescriptors();
const wall = await open();
// The one that it starts guests for, as long as that is who started this.
await wall.prefer(process.connected ? [process.pid, process.ppid] : []);
process.on("message", (request: Partial<Request> | null) => {
  // The service may be somebody else's by now.
  if (Number.isInteger(request?.guest) && REQUESTS.has(request!.do!)) void serve(request as Request);
});
reply({ is: "open", facts: wall.facts });
await closed;
await endAll((await Promise.all(guests.values())).filter((guest) => guest !== null));
await wall.close();
await rm(path.dirname(socketFile), { recursive: true, force: true });
process.exit(0);

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

async function serve({ do: what, guest: number }: Request): Promise<void> {
  if (what === "launch") return launch(number);
  const guest = await guests.get(number);
  switch (what) {
    case "seal":
      return reply({ is: "sealed", guest: number, fault: guest ? await faultOf(guest.seal()) : "the guest is gone" });
    case "inspect":
      return reply({ is: "inspected", guest: number, status: (await guest?.inspect()) ?? null });
    case "kill":
      return guest?.kill();
    default:
      return guest?.setPriority(what);
  }
}

async function launch(number: number): Promise<void> {
  // One whose number goes to another would be out of reach, and alive when its files are removed.
  if (guests.has(number)) return;
  try {
    refuseMore(guests.size, options);
  } catch (error) {
    return reply({ is: "exited", guest: number, exit: { how: (error as Error).message, outOfMemory: false } });
  }
  const starting = start(number);
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

async function start(number: number): Promise<StartedGuest> {
  // Paused for good: what the guest says is the service's to read.
  const frames = connect(socketFile).pause();
  // A service out of descriptors closes it at once. The greeting is then refused; an error that nobody hears would be
  // the end of all guests.
  frames.on("error", () => {});
  try {
    await once(frames, "connect");
    // Before the guest lives: nothing of its own can come first.
    await greet(frames, number);
    return wall.start(frames);
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
