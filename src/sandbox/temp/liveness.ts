import { once } from "node:events";
import { open, rm, stat } from "node:fs/promises";
import { connect, createServer } from "node:net";
import path from "node:path";

import { isStaleTag } from "./process-tag.ts";

const ALIVE = "alive.sock";
/** Those that listen in folders that carry their owner's name: the second is where guests connect to. */
const SOCKETS = [ALIVE, "guests.sock"];
/** Between a folder and its socket lies a moment. */
const YOUNG_MS = 10_000;

/**
 * Shows by a socket in a folder that its owner is alive, until it ends, however it ends. The number in the folder's name
 * tells that only to those in the same PID namespace: to a service in another container that shares the temporary folder,
 * it is nobody's or somebody else's.
 */
export async function showLiveness(folder: string): Promise<{ end(): Promise<void> }> {
  const server = createServer((socket) => socket.destroy()).unref();
  try {
    // The paths of sockets are short (unix(7)), those of folders may not be.
    await using handle = await open(folder);
    server.listen(`/proc/self/fd/${handle.fd}/${ALIVE}`);
    await once(server, "listening");
  } catch {
    // A disk that has no sockets, or no proc(5): known by its number alone.
  }
  return {
    end: async () => {
      await new Promise((closed) => server.close(closed));
      await rm(path.join(folder, ALIVE), { force: true });
    },
  };
}

/** Whether the owner of a folder is no more, by its name and, where that is not of this PID namespace, by its socket. */
export async function isStale(folder: string, prefix: string): Promise<boolean> {
  if (!isStaleTag(path.basename(folder), prefix)) return false;
  try {
    await using handle = await open(folder);
    const answers = await Promise.all(SOCKETS.map((name) => answerOf(`/proc/self/fd/${handle.fd}/${name}`)));
    if (answers.includes("alive")) return false;
    return answers.includes("dead") || Date.now() - (await stat(folder)).mtimeMs > YOUNG_MS;
  } catch (error) {
    // Somebody else has removed it, or it is not this user's.
    return (error as NodeJS.ErrnoException).code !== "ENOENT";
  }
}

async function answerOf(file: string): Promise<"alive" | "dead" | "none"> {
  const socket = connect(file);
  try {
    await once(socket, "connect");
    return "alive";
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Whatever else goes wrong says nothing against who may live.
    return code === "ECONNREFUSED" ? "dead" : code === "ENOENT" ? "none" : "alive";
  } finally {
    socket.destroy();
  }
}
