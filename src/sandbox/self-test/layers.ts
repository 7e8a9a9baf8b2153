import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { constants } from "node:os";
import { getSystemErrorName } from "node:util";

import { executePlan, type PlanResult } from "../plan/execute-plan.ts";
import { type GuestPolicy, guestPlan } from "../plan/guest-plan.ts";
import type { NotedCall } from "../plan/notes.ts";
import type { Check, Layer } from "./check.ts";
import {
  boundedCalls,
  filteredCalls,
  foreignersCalls,
  type HostileCall,
  landlockedCalls,
  type Part,
  type Targets,
  threadCall,
} from "./hostile-calls.ts";

/** What is to be proven. */
export interface Layered {
  /** The file of that program. */
  readonly stub: string;
  /** Of a guest, but for its program. */
  readonly policy: GuestPolicy;
  /** The folder of another guest that is there at the same time, where this process sees it. */
  readonly neighbour?: string;
  /** Plays calls under all that a guest has around it. */
  readonly playAmongAll: (calls: readonly NotedCall[]) => Promise<PlanResult>;
  /** How many the kernel lets a guest have, or null where it does not count them. */
  readonly threads: number | null;
}

/** A file of the host that any of its users may read and execute. */
const HOST_FILE = "/bin/sh";
/** More are not made at a start. There the kernel's own number must do. */
const MOST_THREADS = 80;
/** Above all errors of the kernel. */
export const MARK = 1_024;

const PARTS: readonly Part[] = ["landlock", "identity", "rlimits", "filter"];

/**
 * Proves the layers of a plan one by one, by native calls and without a Node. Each call goes through where there is no
 * layer, is stopped by its own layer alone, and by all together. What comes to nothing with no layer, because a container
 * around the service forbids it or nothing is there, proves nothing of its own layer, and is told as weak. Only the filter
 * needs no such proof: alone it marks its errors, which are nobody else's then.
 */
export async function testLayers(layered: Layered): Promise<Check[]> {
  const servers = { tcp: createServer(hangUp), unix: createServer(hangUp) };
  const name = `\0caisson-layers-${process.pid}-${performance.now()}`;
  try {
    await once(servers.unix.listen(name), "listening");
    const targets = {
      architecture: layered.policy.architecture,
      file: HOST_FILE,
      neighbour: layered.neighbour ?? null,
      port: await listen(servers.tcp),
      name,
      pid: process.pid,
      descriptor: layered.policy.closeFrom,
    };
    return [judgeVersion(layered.policy), ...(await tryAll(layered, targets))];
  } catch (error) {
    // Also what ends the guests that come after says why: that is told by whoever starts them.
    const { message: found } = error as Error;
    return [{ layer: "system calls", tried: "by native code", outcome: "open", found }];
  } finally {
    for (const server of Object.values(servers)) server.close();
  }
}

async function tryAll(layered: Layered, targets: Targets): Promise<Check[]> {
  const calls = callsAgainst(layered.policy, targets);
  const [open, own, all] = await Promise.all([
    tryCalls(calls, playWith(layered, null)),
    tryByPart(layered, calls),
    tryAmongAll(layered, targets, calls),
  ]);
  const judged = calls.map((call) => {
    return judgeCall(call, { open: open.get(call)!, own: own.get(call)!, all: all.answers.get(call) ?? null });
  });
  return [...byLayer(judged), ...all.threads];
}

function callsAgainst({ root, landlock, identity, rlimits, filter }: GuestPolicy, targets: Targets): HostileCall[] {
  return [
    ...(landlock ? landlockedCalls(targets, landlock.abi) : []),
    ...(identity ? foreignersCalls(targets, root !== undefined) : []),
    ...boundedCalls(targets, rlimits ?? {}),
    ...(filter ? filteredCalls(targets) : []),
  ];
}

type Answers = ReadonlyMap<HostileCall, number>;
type PlayCalls = (calls: readonly NotedCall[]) => Promise<PlanResult>;

/** @throws {Error} with the step that failed of what was to stop them. */
async function tryCalls(calls: readonly HostileCall[], playCalls: PlayCalls): Promise<Answers> {
  const steps = calls.flatMap(({ before, call }) => (before ? [before, call] : [call]));
  const { fault, results: answers } = await playCalls(steps);
  if (fault !== null) throw new Error(`a layer could not be tried: ${fault}`);
  return new Map(calls.map((call) => [call, answers[steps.indexOf(call.call)]!]));
}

async function tryByPart(layered: Layered, calls: readonly HostileCall[]): Promise<Answers> {
  const parts = PARTS.map(async (part): Promise<Answers> => {
    const against = calls.filter((call) => call.part === part);
    return against.length > 0 ? tryCalls(against, playWith(layered, part)) : new Map();
  });
  return new Map((await Promise.all(parts)).flatMap((answers) => [...answers]));
}

/** Plays calls with one part of the policy and nothing else. */
function playWith({ stub, policy }: Layered, part: Part | null): PlayCalls {
  const { architecture, closeFrom, root, identity, rlimits, landlock, filter } = policy;
  const parts: Readonly<Record<Part, Partial<GuestPolicy>>> = {
    identity: { ...(root === undefined ? {} : { root }), ...(identity ? { identity } : {}) },
    rlimits: rlimits ? { rlimits } : {},
    // Without its rules: they name files as the guest sees them.
    landlock: landlock ? { landlock: { ...landlock, rules: [] } } : {},
    filter: filter ? { filter: { ...filter, mark: MARK } } : {},
  };
  const plan = guestPlan({ architecture, closeFrom, ...(part === null ? {} : parts[part]) });
  return (calls) => executePlan(stub, architecture, plan, calls);
}

async function tryAmongAll(
  { playAmongAll, threads }: Layered,
  targets: Targets,
  calls: readonly HostileCall[],
): Promise<{ answers: Answers; threads: Check[] }> {
  const one = threadCall(targets);
  // The process is itself a thread.
  const more = threads !== null && threads <= MOST_THREADS ? Array.from({ length: threads }, () => one) : [];
  let refused = 0;
  const answers = await tryCalls(
    calls.filter(({ onlyAlone }) => !onlyAlone),
    async (steps) => {
      const played = await playAmongAll([...steps, ...more]);
      refused = played.results.at(-1) ?? 0;
      return played;
    },
  );
  if (more.length === 0) return { answers, threads: [] };
  const outcome = refused === -constants.errno.EAGAIN ? "held" : "open";
  return { answers, threads: [{ layer: "threads", tried: "one more than that", outcome, found: nameOf(refused) }] };
}

export interface Judged {
  readonly layer: Layer;
  readonly outcome: Check["outcome"];
  readonly what: string;
}

/** What the kernel answered: with no layer, with its own alone, and with all, unless it was not tried there. */
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
  const byItself = isFiltered ? -own - MARK : -own;
  if (!errors.includes(byItself)) return { layer, outcome: "open", what: `${what} ${nameOf(own)} by ${part} alone` };
  return { layer, outcome: "held", what };
}

function byLayer(all: readonly Judged[]): Check[] {
  return [...new Set(all.map(({ layer }) => layer))].map((layer) => {
    const having = (outcome: Check["outcome"]): string[] => {
      return all.filter((each) => each.layer === layer && each.outcome === outcome).map(({ what }) => what);
    };
    const [held, weak, open] = [having("held"), having("weak"), having("open")];
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
  if (!landlock) return { ...check, outcome: "weak", found: "none that this kernel has and this process may use" };
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

/** Who connects has shown enough; how it ends is of no interest. */
function hangUp(socket: Socket): void {
  socket.on("error", () => {}).destroy();
}

/** @returns its port, or one of nobody's where there is no IPv4. */
async function listen(server: Server): Promise<number> {
  try {
    await once(server.listen(0, "127.0.0.1"), "listening");
    return (server.address() as AddressInfo).port;
  } catch {
    return 0;
  }
}
