import { once } from "node:events";
import { connect, type Socket } from "node:net";

import { ByteReader } from "./byte-reader.ts";
import { type Frame, LINE_BYTES, type Request } from "./frame.ts";
import { isPartName, type Part } from "./part.ts";
import type { BackupOptions } from "./parts-of.ts";
import { SocketPath } from "./socket-path.ts";

/**
 * Connects to the service that uses a data folder. @returns null if no service listens there.
 *
 * @throws {Error} if this user may not connect.
 */
export async function connectTo(data: string): Promise<Socket | null> {
  using place = new SocketPath(data);
  const socket = connect(place.path);
  try {
    await once(socket, "connect");
    return socket;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ECONNREFUSED") return null;
    const remedy = code === "EACCES" ? "; run the command as the user of the service, or as root" : "";
    throw new Error(`the service at ${data} cannot be reached (${code})${remedy}`, { cause: error });
  }
}

/**
 * Asks a service for the parts of a backup.
 *
 * @param warn receives what the service leaves out
 * @throws {Error} with the reason of the service, or if its answer ends early.
 */
export async function* askService(
  socket: Socket,
  { withoutRecords }: BackupOptions,
  warn: (warning: string) => void,
): AsyncGenerator<Part> {
  try {
    socket.write(`${JSON.stringify({ withoutRecords } satisfies Request)}\n`);
    const reader = new ByteReader(socket as AsyncIterable<Buffer>);
    for (;;) {
      const line = await reader.line(LINE_BYTES);
      if (line === null) throw new Error("the service ended the backup early; see its log");
      const frame = JSON.parse(line) as Frame;
      if ("end" in frame) return;
      if ("error" in frame) throw new Error(`the service cannot make the backup: ${frame.error}`);
      if ("warning" in frame) warn(frame.warning);
      else yield checked(frame, reader);
    }
  } finally {
    socket.destroy();
  }
}

function checked({ part: name, bytes }: { part: string; bytes: number }, reader: ByteReader): Part {
  if (!isPartName(name) || !Number.isSafeInteger(bytes) || bytes < 0)
    throw new Error("the service gave a wrong answer");
  return { name, bytes, content: reader.stream(bytes) };
}
