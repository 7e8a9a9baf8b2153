import { many, one, type Settings } from "../setting.ts";
import { boolean, cidrs, file, integer, origins, text } from "../values.ts";

export interface ListeningConfig {
  readonly host: string;
  readonly port: number;
  readonly tlsCert: string | null;
  readonly tlsKey: string | null;
  readonly trustProxy: readonly string[];
  readonly insecureHttp: boolean;
  readonly queryKey: boolean;
  readonly mcpOrigin: readonly string[];
}

export const LISTENING: Settings<ListeningConfig> = {
  host: one("--host <address>", "127.0.0.1", "address to listen on", text),
  port: one("--port <number>", 7070, "port to listen on; 0 takes any free port", integer(0, 65_535)),
  tlsCert: one<string | null>("--tls-cert <file>", null, "certificate chain, PEM", file),
  tlsKey: one<string | null>("--tls-key <file>", null, "private key of the certificate, PEM", file),
  trustProxy: many<readonly string[]>(
    "--trust-proxy <cidr>",
    [],
    "addresses of the proxies in front of the service, which may terminate TLS: the service believes their Forwarded and " +
      "X-Forwarded-For headers",
    cidrs,
  ),
  insecureHttp: one("--insecure-http", false, "listen beyond loopback without TLS", boolean),
  mcpOrigin: many<readonly string[]>(
    "--mcp-origin <origin>",
    [],
    "origin of web pages that may use /mcp, such as https://agents.example; stops pages that reach the service by DNS rebinding",
    origins,
  ),
  queryKey: one("--no-query-key", true, "take tokens from the Authorization header only", boolean),
};

/** What to do if the kernel refuses a port, by the code of the error. */
export const LISTEN_REMEDIES: Readonly<Record<string, string>> = {
  EACCES: "give --port 1024 or more, start it as root, or give it CAP_NET_BIND_SERVICE",
  EADDRNOTAVAIL: "set --host to an address of this machine",
};
