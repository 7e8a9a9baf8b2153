import { request } from "../../test/contract/http.ts";
import { pause, until } from "../../test/contract/until.ts";
import { Callers, type Span } from "./callers.ts";
import type { Topology } from "./topology.ts";

export interface TrialOptions {
  readonly callers: number;
  readonly containers: number;
  /** The limit of each container, in the whole trial. */
  readonly limit: number;
  /** The time before and after each fault. */
  readonly quietMs: number;
  /** The time between the answer to a caller and its next request. */
  readonly betweenMs: number;
  /** The time for which a process is paused. */
  readonly pausedMs: number;
}

export interface Phase extends Span {
  readonly name: string;
  /** The time from the end of the fault until a run succeeded or was refused by its limit. */
  readonly recoveredMs: number;
  /** How often a node reported that Redis did not answer in time, which also happens when the machine stands still. */
  readonly storeLosses: number;
}

export interface Trial {
  readonly phases: readonly Phase[];
  /** For each container: the successful runs, the counted runs, and the limit. */
  readonly counts: readonly { container: string; answered: number; counted: number; limit: number }[];
}

/** Longer than the time between two attempts of a node to reach Redis. */
const SETTLED_MS = 1_000;

/** A part of the log line. */
const STORE_LOST = "does not answer; on-store-loss";

export const STOPPED = "a node is stopped (SIGTERM)";

/** Loads the nodes, and stops one part after the other. */
export async function tryFaults(topology: Topology, options: TrialOptions): Promise<Trial> {
  const { port, admin, redis, nodes } = topology;
  const limits = { container: { day: options.limit } };
  const issued = await request(port, "POST", "/api/tokens", {
    token: admin,
    json: { containers: ["scale-*"], limits },
  });
  const { token } = issued.json() as { token: string };
  const callers = new Callers(port, token, options);
  const phases: Phase[] = [];
  const losses = (): number => nodes.reduce((sum, { stderr }) => sum + stderr.split(STORE_LOST).length - 1, 0);
  const phase = async (name: string, fault: () => Promise<void>): Promise<void> => {
    const lossesBefore = losses();
    await pause(options.quietMs);
    await fault();
    const fixedMs = performance.now();
    await until(() => callers.lastDecidedMs > fixedMs, `runs are decided after: ${name}`);
    const recoveredMs = performance.now() - fixedMs;
    // Another node may still refuse until it tries Redis again. That must not count for the next fault.
    await until(() => performance.now() - callers.lastLostMs > SETTLED_MS, `no run is lost after: ${name}`);
    await pause(options.quietMs);
    phases.push({ name, recoveredMs, storeLosses: losses() - lossesBefore, ...callers.take() });
  };
  const halted = async (stop: () => void, go: () => void): Promise<void> => {
    stop();
    await pause(options.pausedMs);
    go();
  };
  const [, second] = nodes;
  try {
    await phase("nothing", () => Promise.resolve());
    await phase("Redis is killed, and started again", () => redis.restart());
    await phase("Redis is paused", () =>
      halted(
        () => process.kill(redis.pid, "SIGSTOP"),
        () => process.kill(redis.pid, "SIGCONT"),
      ),
    );
    await phase(STOPPED, () => second!.signal("SIGTERM"));
    await phase("the node is started again", () => second!.start());
    await phase("the node is paused", () =>
      halted(
        () => second!.pause(),
        () => second!.resume(),
      ),
    );
    await phase("the node is killed (SIGKILL)", () => second!.signal("SIGKILL"));
    await phase("the node is started again after the kill", () => second!.start());
  } finally {
    await callers.end();
  }
  const counts = [];
  for (let number = 0; number < options.containers; number++) {
    const container = `scale-${number}`;
    const target = `/api/limits/container/${container}?detail=true`;
    const detail = (await request(port, "GET", target, { token })).json() as { day: { used: number } };
    counts.push({
      container,
      answered: callers.admitted.get(container) ?? 0,
      counted: detail.day.used,
      limit: options.limit,
    });
  }
  return { phases, counts };
}
