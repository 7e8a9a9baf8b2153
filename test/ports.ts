import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Below the range from which the kernel takes the ports of other servers and connections (`ip_local_port_range` in ip(7)),
 * so that no test that runs at the same time gets the port before this test listens on it.
 */
const FIRST_PORT = 20_000;
const PORTS = 12_000;
/** The ports between the first ones of two processes with successive ids: more than a process takes. */
const OF_ONE_PROCESS = 64;
const MOST_ATTEMPTS = 100;

let next = (process.pid * OF_ONE_PROCESS) % PORTS;

/**
 * Returns a port of 127.0.0.1 on which nothing listens, a different one for each call. Random ports of two processes would be equal
 * too often: a test that needs a port without a server would meet the service of another test.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const port = FIRST_PORT + next;
    next = (next + 1) % PORTS;
    if (await isFree(port)) return port;
  }
  throw new Error(`${MOST_ATTEMPTS} ports from ${FIRST_PORT} on are in use`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
