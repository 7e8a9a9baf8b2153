import { type Caisson, CaissonError } from "../../../client/src/index.ts";
import { retryWhenLimited } from "../../../client/src/retry.ts";
import { type MemberFault, membersProblem } from "../../members.ts";
import { exitOf, EXITS } from "../exits.ts";
import { errorLines } from "../fail.ts";
import { say } from "../print/say.ts";
import { actionOf, type Applied, type ApplyResult, explained } from "./apply.ts";
import type { Step } from "./plan.ts";

/** The limit of checks is one of a minute. */
const MOST_WAIT_MS = 90_000;

/**
 * Checks the steps without changing anything: the settings as the service checks them, and that the code parses. Only the service
 * itself compares the settings with the token, permits packages and counts tasks, at the deployment.
 */
export async function check(caisson: Caisson, container: string, steps: readonly Step[]): Promise<ApplyResult> {
  const applied: Applied[] = [];
  let exitCode: number = EXITS.ok;
  for (const step of steps) {
    const { wanted, present, changes } = step;
    const base = { name: wanted.name, action: actionOf(step), changes, version: present?.version ?? null };
    const fault = changes.length === 0 ? null : await faultOf(caisson, container, step);
    if (fault === null) {
      applied.push(base);
      continue;
    }
    applied.push({ ...base, error: { code: fault.code, detail: fault.detail } });
    exitCode ||= exitOf(fault);
    say(
      `${wanted.name} (${wanted.file}) cannot be deployed:`,
      ...errorLines(explained(fault, wanted)).map((line) => `  ${line}`),
    );
  }
  return { applied, exitCode };
}

/** Returns why the service would refuse a step, or why it cannot check the code; otherwise null. */
async function faultOf(caisson: Caisson, container: string, step: Step): Promise<CaissonError | null> {
  const faults = await faultsOfMembers(container, step);
  if (faults.length > 0) return refusal(faults);
  const { wanted, present, request } = step;
  if (typeof request.code !== "string") return null;
  const { code, modules, typescript } = wanted.source;
  const packages = request.packages === undefined ? present?.packages : request.packages;
  const submitted = {
    code,
    file: typescript ? "task.ts" : "task.js",
    ...(modules && { modules: { ...modules } }),
    ...(packages && { packages }),
  };
  try {
    const fault = await retryWhenLimited(
      () => caisson.check(container, submitted).catch(sayIfLimited),
      { limited: true, maxWaitMs: MOST_WAIT_MS },
      undefined,
    );
    return fault && new CaissonError({ code: fault.code, detail: fault.message, hint: fault.hint, status: 400 });
  } catch (error) {
    if (error instanceof CaissonError) return error;
    throw error;
  }
}

/** The service checks a number of codes in a minute (`--family-checks`), and a project may have more tasks. */
function sayIfLimited(error: unknown): never {
  if (error instanceof CaissonError && error.retryAfterMs !== null) {
    say(`${error.detail}; the next check follows in ${Math.ceil(error.retryAfterMs / 1_000)} s`);
  }
  throw error;
}

/** Returns the faults of the members that the deployment sends. */
async function faultsOfMembers(container: string, { request }: Step): Promise<readonly MemberFault[]> {
  // Loaded late: the schemas take time, and no other command of a client needs them.
  const [{ readTaskRequest }, { judgeTokenRequest }] = await Promise.all([
    import("../../tasks/task-request.ts"),
    import("../../tokens/judge-request.ts"),
  ]);
  const { members: sound, faults } = readTaskRequest(JSON.parse(JSON.stringify(request)), Infinity);
  const { net, limits, timeout, params, secrets, exp, expiresIn } = sound;
  const ofToken = { net, limits, timeout, params, secrets, exp, expiresIn, containers: [container], can: ["run"] };
  const set = Object.entries(ofToken).filter(([, value]) => value !== undefined && value !== null);
  // Secrets need a pin, and the task is pinned to its code.
  const members = { ...Object.fromEntries(set), ...(secrets !== undefined && { secretsReadable: true }) };
  const { invalid } = judgeTokenRequest(members, Date.now());
  return [...faults, ...invalid];
}

/** Makes the error that the service would answer with. */
function refusal(faults: readonly MemberFault[]): CaissonError {
  const { code, message, options, status } = membersProblem("the task", faults);
  const { hint = null, violations = [] } = options;
  return new CaissonError({ code, detail: message, hint, status, violations: violations as Record<string, unknown>[] });
}
