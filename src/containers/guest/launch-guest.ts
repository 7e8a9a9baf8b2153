import type { Egress } from "../../egress/egress.ts";
import { Problem } from "../../errors.ts";
import type { GuestProcess, Sandbox } from "../../sandbox/sandbox.ts";
import type { GuestHelpers, GuestLimits } from "./guest-limits.ts";
import { Guest } from "./guest.ts";

/** Starts a guest, which stands in the set while its process lives. @throws {Problem} `sandbox_failed` */
export async function launchGuest(
  sandbox: Sandbox,
  guests: Set<Guest>,
  limits: GuestLimits,
  egress: Egress,
  helpers: GuestHelpers = {},
): Promise<Guest> {
  const guest = new Guest(await launchProcess(sandbox), limits, egress, helpers);
  guests.add(guest);
  void guest.process.exited.then(() => guests.delete(guest));
  return guest.ready();
}

async function launchProcess(sandbox: Sandbox): Promise<GuestProcess> {
  try {
    return await sandbox.launch();
  } catch (error) {
    throw new Problem("sandbox_failed", "a container could not be started", { cause: error });
  }
}

/** Ends all guests, and waits until the kernel has removed them, so that their control groups can be removed too. */
export async function endAll(guests: Set<Guest>): Promise<void> {
  const exits = [...guests].map((guest) => {
    guest.end(new Problem("container_restarted", "the service stopped before the run had ended"));
    return guest.process.exited;
  });
  await Promise.all(exits);
}
