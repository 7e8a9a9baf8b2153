import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Below the range from which the kernel takes the ports of other servers and connections (`ip_local_port_range` in ip(7)),
 * so that no test that runs at the same time gets the port before this test listens on it.
 */
const FIRST_PORT = 20_000;
const PORTS = 12_000;
const MOST_ATTEMPTS = 100;

/** Returns a port of 127.0.0.1 on which nothing listens. Two calls return different ports, but for bad luck. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS);
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
