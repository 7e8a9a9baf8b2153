import { once } from "node:events";
import { get as getHttp, type IncomingMessage } from "node:http";
import { get as getHttps } from "node:https";
import { createServer } from "node:net";
import { json } from "node:stream/consumers";

import type { Config } from "../config.ts";
import type { Finding } from "./finding.ts";

const ANSWER_MS = 2_000;

/** Whether the service could listen, or does. */
export async function examinePort(config: Config): Promise<Finding> {
  const { host, port } = config;
  const layer = "port";
  if (port === 0) return { layer, state: "held", proof: "any that is free" };
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, "listening");
    server.close();
    return { layer, state: "held", proof: `${port} of ${host} is free` };
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code !== "EADDRINUSE") {
      return { layer, state: "open", proof: `${port} of ${host}: ${code}`, remedy: REMEDIES[code] ?? "give --port" };
    }
    const service = await askService(config);
    if (service !== null) return { layer, state: "held", proof: `${port} of ${host}: ${service} serves there` };
    const remedy = "give another with --port, or stop what uses it";
    return { layer, state: "open", proof: `${port} of ${host} is in use by another program`, remedy };
  }
}

const REMEDIES: Readonly<Record<string, string>> = {
  EACCES: "give --port 1024 or more, start it as root, or give it CAP_NET_BIND_SERVICE",
  EADDRNOTAVAIL: "give with --host an address that this machine has",
};

/** What a caisson that listens there says of itself, or null. */
async function askService({ host, port, tlsCert }: Config): Promise<string | null> {
  const everywhere = host === "0.0.0.0" || host === "::";
  const options = { host: everywhere ? "localhost" : host, port, path: "/healthz", timeout: ANSWER_MS };
  try {
    // Its certificate may be for a name that this machine does not go by; nothing secret is sent.
    const request = tlsCert === null ? getHttp(options) : getHttps({ ...options, rejectUnauthorized: false });
    request.on("timeout", () => request.destroy(new Error("timeout")));
    const [response] = (await once(request, "response")) as [IncomingMessage];
    const { version, isolation } = (await json(response)) as Record<string, unknown>;
    return typeof version === "string" && typeof isolation === "string"
      ? `caisson ${version}, isolation ${isolation},`
      : null;
  } catch {
    return null;
  }
}
