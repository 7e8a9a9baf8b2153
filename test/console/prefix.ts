import { once } from "node:events";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Starts a proxy that serves the service below a path, and removes this path from each request. @returns its URL */
export async function startPrefixProxy(prefix: string, servicePort: () => number): Promise<[url: string, Server]> {
  const server = createServer((incoming, response) => {
    const { method, headers, url = "" } = incoming;
    if (!url.startsWith(`${prefix}/`)) {
      response.writeHead(404).end("outside of the path");
      return;
    }
    const target = { host: "127.0.0.1", port: servicePort(), method, headers, path: url.slice(prefix.length) };
    const passed = request(target, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    passed.on("error", () => response.destroy());
    incoming.pipe(passed);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return [`http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}/`, server];
}
