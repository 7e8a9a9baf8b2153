import { serveCode } from "./code-server.ts";
import type { Answer } from "./http.ts";
import type { Service } from "./service.ts";

/**
 * A server that runs report to when they begin. It knows what has started without asking the service, which is what
 * the service's own counts are held against.
 */
export interface Witness {
  /** Where it is; the service must allow it as `--egress-allow`. */
  readonly address: string;
  /** Runs that were seen to start, by container. */
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
