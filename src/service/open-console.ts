import type { Server } from "node:http";

import type { Config } from "../config.ts";
import { type ConsoleServerDependencies, listenForConsole } from "../http/console/console-server.ts";
import { listeningPorts } from "../http/listen-and-drain.ts";

/** Opens the separate port of the console. @returns null if the console has none */
export async function openConsole(
  config: Config,
  service: Server,
  parts: Omit<ConsoleServerDependencies, "servicePort">,
  closers: AsyncDisposableStack,
): Promise<Server | null> {
  if (config.consolePort === null) return null;
  const [servicePort] = listeningPorts(service);
  const server = await listenForConsole(config, config.consolePort, { ...parts, servicePort: servicePort! });
  return closers.adopt(server, (open) => open.close().closeAllConnections());
}
