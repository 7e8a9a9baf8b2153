import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** How many runs a peer has at once. Requests wait in a queue, because more at once only slow each other down. */
export const AT_ONCE = 8;

/** Runs a function body. @param slot is from 0 to `AT_ONCE`, and no other run has it now. @returns the result as JSON */
export type RunCode = (code: string, slot: number) => Promise<string>;

/** Serves a runtime that is a library with a minimal server, and prints its address. */
export function serve(run: RunCode): void {
  const free = Array.from({ length: AT_ONCE }, (_, slot) => slot);
  const queue: ((slot: number) => void)[] = [];
  const take = async (): Promise<number> => free.pop() ?? new Promise((resolve) => queue.push(resolve));
  const release = (slot: number): void => {
    const first = queue.shift();
    if (first) first(slot);
    else free.push(slot);
  };
  const answer = async (code: string, response: ServerResponse): Promise<void> => {
    const slot = await take();
    try {
      // The requests of a load that has ended must not slow down the next.
      if (response.closed) return;
      const text = await run(code, slot);
      response.writeHead(200, { "Content-Type": "application/json" }).end(text);
    } catch (error) {
      response.writeHead(500).end(String(error));
    } finally {
      release(slot);
    }
  };
  const server = createServer((request, response) => {
    let code = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (code += chunk));
    request.on("end", () => void answer(code, response));
  });
  server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  process.on("SIGTERM", () => process.exit(0));
}

/** Returns an expression that calls the code as the body of a function. */
export function asCall(code: string): string {
  return `(function () {\n${code}\n})()`;
}
