import { once } from "node:events";
import { open, rm, stat } from "node:fs/promises";
import { connect, createServer } from "node:net";
import path from "node:path";

import { isStaleTag } from "./process-tag.ts";

const ALIVE = "alive.sock";
/** The sockets that the owner of a folder listens on. Guests connect to the second. */
const SOCKETS = [ALIVE, "guests.sock"];
/** The age, in milliseconds, from which a folder without a socket is stale. The socket is created after the folder. */
const YOUNG_MS = 10_000;

/**
 * Shows by a socket in a folder that its owner is alive. The kernel closes the socket however the owner ends. The process id
 * in the folder's name is valid only in the owner's PID namespace: for a service in another container that shares the
 * temporary folder, it belongs to no process or to another process.
 */
export async function showLiveness(folder: string): Promise<{ end(): Promise<void> }> {
  const server = createServer((socket) => socket.destroy()).unref();
  try {
    // The maximum length of socket paths is short (unix(7)), and the folder's path may be longer.
    await using handle = await open(folder);
    server.listen(`/proc/self/fd/${handle.fd}/${ALIVE}`);
    await once(server, "listening");
  } catch {
    // The file system has no sockets, or there is no proc(5). Then only the process id identifies the owner.
  }
  return {
    end: async () => {
      await new Promise((closed) => server.close(closed));
      await rm(path.join(folder, ALIVE), { force: true });
    },
  };
}

/** Returns whether the owner of a folder has ended, by its name, and by its sockets for owners in other PID namespaces. */
export async function isStale(folder: string, prefix: string): Promise<boolean> {
  if (!isStaleTag(path.basename(folder), prefix)) return false;
  try {
    await using handle = await open(folder);
    const states = await Promise.all(SOCKETS.map((name) => stateOf(`/proc/self/fd/${handle.fd}/${name}`)));
    if (states.includes("alive")) return false;
    return states.includes("dead") || Date.now() - (await stat(folder)).mtimeMs > YOUNG_MS;
  } catch (error) {
    // ENOENT: another process has removed the folder. Otherwise the folder belongs to another user.
    return (error as NodeJS.ErrnoException).code !== "ENOENT";
  }
}

async function stateOf(file: string): Promise<"alive" | "dead" | "none"> {
  const socket = connect(file);
  try {
    await once(socket, "connect");
    return "alive";
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // After any other error the owner may be alive.
    return code === "ECONNREFUSED" ? "dead" : code === "ENOENT" ? "none" : "alive";
  } finally {
    socket.destroy();
  }
}
