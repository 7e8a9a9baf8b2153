import { once } from "node:events";
import { createServer } from "node:net";

import type { Config } from "../config.ts";
import { LISTEN_REMEDIES } from "../config/groups/listening.ts";
import type { Finding } from "../finding.ts";
import { askHealth } from "./ask.ts";

/** Examines whether the service can listen on its port, or already does. */
export async function examinePort(config: Config): Promise<Finding> {
  const { host, port } = config;
  const layer = "port";
  if (port === 0) return { layer, state: "held", proof: "any free port" };
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, "listening");
    server.close();
    return { layer, state: "held", proof: `${port} of ${host} is free` };
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code !== "EADDRINUSE") {
      return {
        layer,
        state: "open",
        proof: `${port} of ${host}: ${code}`,
        remedy: LISTEN_REMEDIES[code] ?? "give --port",
      };
    }
    const service = await askHealth(config);
    if (service !== null) {
      const { version, isolation } = service;
      const proof = `${port} of ${host}: in use by caisson ${version}, isolation ${isolation}`;
      return { layer, state: "held", proof };
    }
    const remedy = "give another port with --port, or stop the program that uses it";
    return { layer, state: "open", proof: `${port} of ${host} is in use by another program`, remedy };
  }
}
