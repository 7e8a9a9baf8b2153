import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { constants } from "node:os";
import { getSystemErrorName } from "node:util";

import { executePlan, type PlanResult } from "../plan/execute-plan.ts";
import { type GuestPolicy, guestPlan } from "../plan/guest-plan.ts";
import type { NotedCall } from "../plan/notes.ts";
import type { Check, Layer } from "./check.ts";
import {
  filteredCalls,
  type HostileCall,
  landlockedCalls,
  otherUserCalls,
  type Part,
  rlimitCalls,
  type Targets,
  threadCall,
} from "./hostile-calls.ts";

/** The layers to test. */
export interface LayerTestOptions {
  /** The file of the stub. */
  readonly stub: string;
  /** The policy of a guest, without its program. */
  readonly policy: GuestPolicy;
  /** The folder of another guest that exists at the same time, if this process sees it. */
  readonly neighbour?: string;
  /** Executes calls under all restrictions of a guest. */
  readonly executeUnderAll: (calls: readonly NotedCall[]) => Promise<PlanResult>;
  /** The kernel's limit for the threads of a guest, or null if the kernel does not count them. */
  readonly threads: number | null;
}

/** A file of the host that every user may read and execute. */
const HOST_FILE = "/bin/sh";
/** The maximum number of threads that a start creates. Above it, the limit that the kernel reports must suffice. */
const MOST_THREADS = 80;
/** A number above all errors of the kernel. */
export const MARK = 1_024;

const PARTS: readonly Part[] = ["landlock", "identity", "rlimits", "filter"];

/**
 * Proves the layers of a plan separately, by system calls without Node. Each call must succeed without layers, and must be
 * stopped by its own layer alone, and by all layers together. A call that fails without layers, for example because a
 * container around the service forbids it, proves nothing about its layer and is reported as weak. The filter does not need
 * this comparison: when tested alone it marks its errors, which identifies them.
 */
export async function testLayers(options: LayerTestOptions): Promise<Check[]> {
  const servers = { tcp: createServer(hangUp), unix: createServer(hangUp) };
  const name = `\0caisson-layers-${process.pid}-${performance.now()}`;
  try {
    await once(servers.unix.listen(name), "listening");
    const targets = {
      architecture: options.policy.architecture,
      file: HOST_FILE,
      neighbour: options.neighbour ?? null,
      port: await listen(servers.tcp),
      name,
      pid: process.pid,
      descriptor: options.policy.closeFrom,
    };
    return [judgeVersion(options.policy), ...(await tryAll(options, targets))];
  } catch (error) {
    // The same cause may end later guests; the code that starts these reports it too.
    const { message: found } = error as Error;
    return [{ layer: "system calls", tried: "by native code", outcome: "open", found }];
  } finally {
    for (const server of Object.values(servers)) server.close();
  }
}

async function tryAll(options: LayerTestOptions, targets: Targets): Promise<Check[]> {
  const calls = callsAgainst(options.policy, targets);
  const [open, own, all] = await Promise.all([
    tryCalls(calls, executeWith(options, null)),
    tryByPart(options, calls),
    tryUnderAll(options, targets, calls),
  ]);
  const judged = calls.map((call) => {
    return judgeCall(call, { open: open.get(call)!, own: own.get(call)!, all: all.answers.get(call) ?? null });
  });
  return [...byLayer(judged), ...all.threads];
}

function callsAgainst({ root, landlock, identity, rlimits, filter }: GuestPolicy, targets: Targets): HostileCall[] {
  return [
    ...(landlock ? landlockedCalls(targets, landlock.abi) : []),
    ...(identity ? otherUserCalls(targets, root !== undefined) : []),
    ...rlimitCalls(targets, rlimits ?? {}),
    ...(filter ? filteredCalls(targets) : []),
  ];
}

type Answers = ReadonlyMap<HostileCall, number>;
type ExecuteCalls = (calls: readonly NotedCall[]) => Promise<PlanResult>;

/** @throws {Error} that names the step of the layers that failed. */
async function tryCalls(calls: readonly HostileCall[], executeCalls: ExecuteCalls): Promise<Answers> {
  const steps = calls.flatMap(({ before, call }) => (before ? [before, call] : [call]));
  const { fault, results: answers } = await executeCalls(steps);
  if (fault !== null) throw new Error(`a layer could not be tried: ${fault}`);
  return new Map(calls.map((call) => [call, answers[steps.indexOf(call.call)]!]));
}

async function tryByPart(options: LayerTestOptions, calls: readonly HostileCall[]): Promise<Answers> {
  const parts = PARTS.map(async (part): Promise<Answers> => {
    const against = calls.filter((call) => call.part === part);
    return against.length > 0 ? tryCalls(against, executeWith(options, part)) : new Map();
  });
  return new Map((await Promise.all(parts)).flatMap((answers) => [...answers]));
}

/** Executes calls under one part of the policy, or under none. */
function executeWith({ stub, policy }: LayerTestOptions, part: Part | null): ExecuteCalls {
  const { architecture, closeFrom, root, identity, rlimits, landlock, filter } = policy;
  const parts: Readonly<Record<Part, Partial<GuestPolicy>>> = {
    identity: { ...(root === undefined ? {} : { root }), ...(identity ? { identity } : {}) },
    rlimits: rlimits ? { rlimits } : {},
    // Without the rules, because they have the guest's paths.
    landlock: landlock ? { landlock: { ...landlock, rules: [] } } : {},
    filter: filter ? { filter: { ...filter, mark: MARK } } : {},
  };
  const plan = guestPlan({ architecture, closeFrom, ...(part === null ? {} : parts[part]) });
  return (calls) => executePlan(stub, architecture, plan, calls);
}

async function tryUnderAll(
  { executeUnderAll, threads }: LayerTestOptions,
  targets: Targets,
  calls: readonly HostileCall[],
): Promise<{ answers: Answers; threads: Check[] }> {
  const thread = threadCall(targets);
  // The process has one thread already, so the last of these calls exceeds the limit.
  const more = threads !== null && threads <= MOST_THREADS ? Array.from({ length: threads }, () => thread) : [];
  let lastResult = 0;
  const answers = await tryCalls(
    calls.filter(({ onlyAlone }) => !onlyAlone),
    async (steps) => {
      const result = await executeUnderAll([...steps, ...more]);
      lastResult = result.results.at(-1) ?? 0;
      return result;
    },
  );
  if (more.length === 0) return { answers, threads: [] };
  const outcome = lastResult === -constants.errno.EAGAIN ? "held" : "open";
  const tried = "start one more than the limit";
  return { answers, threads: [{ layer: "threads", tried, outcome, found: nameOf(lastResult) }] };
}

export interface Judged {
  readonly layer: Layer;
  readonly outcome: Check["outcome"];
  readonly what: string;
}

/** The kernel's results of a call: without layers, under its own layer, and under all (null if it was not tried there). */
export interface ThreeAnswers {
  readonly open: number;
  readonly own: number;
  readonly all: number | null;
}

export function judgeCall(
  { layer, what, part, errors, onlyAlone = false }: HostileCall,
  { open, own, all }: ThreeAnswers,
): Judged {
  const isFiltered = part === "filter";
  const isStopped = all === null ? onlyAlone : isFiltered ? errors.includes(-all) : all < 0;
  if (!isStopped) return { layer, outcome: "open", what: `${what} ${nameOf(all ?? 0)}` };
  if (!isFiltered && open < 0) return { layer, outcome: "weak", what };
  const ownError = isFiltered ? -own - MARK : -own;
  if (!errors.includes(ownError)) return { layer, outcome: "open", what: `${what} ${nameOf(own)} by ${part} alone` };
  return { layer, outcome: "held", what };
}

function byLayer(all: readonly Judged[]): Check[] {
  return [...new Set(all.map(({ layer }) => layer))].map((layer) => {
    const callsWith = (outcome: Check["outcome"]): string[] => {
      return all.filter((each) => each.layer === layer && each.outcome === outcome).map(({ what }) => what);
    };
    const [held, weak, open] = [callsWith("held"), callsWith("weak"), callsWith("open")];
    const tried = "by native code";
    if (open.length > 0) return { layer, tried, outcome: "open", found: open.join(", ") };
    const stopped = held.length > 0 ? [`stopped ${held.join(", ")}`] : [];
    if (weak.length === 0) return { layer, tried, outcome: "held", found: stopped.join() };
    const found = [...stopped, `cannot be proven here: ${weak.join(", ")}`].join("; ");
    return { layer, tried, outcome: "weak", found };
  });
}

function judgeVersion({ landlock }: GuestPolicy): Check {
  const check = { layer: "Landlock", tried: "its version" } as const;
  if (!landlock) return { ...check, outcome: "weak", found: "this kernel has none, or this process may not use it" };
  return { ...check, outcome: "held", found: String(landlock.abi) };
}

function nameOf(answer: number): string {
  if (answer >= 0) return "got through";
  try {
    return getSystemErrorName(answer);
  } catch {
    return `error ${-answer}`;
  }
}

/** Ends a connection. The test needs only the connection itself. */
function hangUp(socket: Socket): void {
  socket.on("error", () => {}).destroy();
}

/** @returns the port, or 0 on a host without IPv4. */
async function listen(server: Server): Promise<number> {
  try {
    await once(server.listen(0, "127.0.0.1"), "listening");
    return (server.address() as AddressInfo).port;
  } catch {
    return 0;
  }
}
