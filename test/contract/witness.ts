import { serveCode } from "./code-server.ts";
import type { Answer } from "./http.ts";
import type { Service } from "./service.ts";

/**
 * A server to which runs report when they begin. It counts the started runs independently of the service, so that a
 * test can compare the counts of the service with them.
 */
export interface Witness {
  /** The address of the server, which the service must allow with `--egress-allow`. */
  readonly address: string;
  /** The number of runs that started, by container. */
  started(container: string): number;
  /** Runs a task that reports first. */
  run(service: Service, container: string, token: string): Promise<Answer>;
  close(): Promise<void>;
}

export async function openWitness(): Promise<Witness> {
  const seen = new Map<string, Set<string>>();
  const server = await serveCode((request, response) => {
    const [, container, run] = request.url!.split("/");
    if (!seen.has(container!)) seen.set(container!, new Set());
    seen.get(container!)!.add(run!);
    response.end();
  });
  const code = `async ({ container, query }) => {
    await fetch("${server.url}/" + container + "/" + query.run);
    return 42;
  }`;
  let runs = 0;
  return {
    address: server.address,
    started: (container) => seen.get(container)?.size ?? 0,
    run: (service, container, token) => service.run(container, code, { token, query: { run: `${++runs}` } }),
    close: () => server.close(),
  };
}
