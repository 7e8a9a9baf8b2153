import type { ChildProcess } from "node:child_process";
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { end, startProxy } from "../../bench/scale/topology.ts";
import { freePort } from "../ports.ts";

const SHIPPED = path.join(import.meta.dirname, "../../deploy/nginx-path.conf");

/** nginx in front of a service, which it serves below a path. */
export interface BelowPath extends AsyncDisposable {
  readonly url: string;
}

/** Starts nginx with the shipped configuration, and with the shipped configuration of a path in its server. */
export async function serveBelowPath(servicePort: number): Promise<BelowPath> {
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-nginx-"));
  await chmod(folder, 0o755);
  let proxy: ChildProcess | null = null;
  const stop = async (): Promise<void> => {
    await end(proxy, "SIGTERM");
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const locations = (await readFile(SHIPPED, "utf8")).replace("http://127.0.0.1:7070", "http://caisson");
    const port = await freePort();
    const withPath = (config: string): string => config.replace("    server {\n", (head) => `${head}${locations}\n`);
    proxy = await startProxy(folder, port, [servicePort], withPath);
    return { url: `http://127.0.0.1:${port}/caisson/`, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
