/**
 * A relay: a server that only passes each text to one other process, and passes the result back. It has no sandbox, no
 * token, no limits, no records and one tenant, so it shows what the way to another process costs alone.
 */
import { spawn } from "node:child_process";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import path from "node:path";

import { FrameWriter, readFrames } from "./relay-frames.ts";

const runner = spawn(process.execPath, [path.join(import.meta.dirname, "relay-runner.ts")], {
  stdio: ["ignore", "inherit", "inherit", "pipe"],
});
runner.once("exit", () => process.exit(1));
const link = runner.stdio[3] as Socket;
const writer = new FrameWriter(link);
const waiting = new Map<number, ServerResponse>();
let last = 0;

readFrames(link, (id, text) => {
  const response = waiting.get(id)!;
  waiting.delete(id);
  response.writeHead(200, { "Content-Type": "application/json" }).end(text);
});
const server = createServer((request, response) => {
  let code = "";
  request.setEncoding("utf8").on("data", (chunk: string) => (code += chunk));
  request.on("end", () => {
    last = (last + 1) % 2 ** 32;
    waiting.set(last, response);
    writer.write(last, code);
  });
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
process.on("SIGTERM", () => {
  runner.removeAllListeners("exit");
  runner.kill();
  process.exit(0);
});
