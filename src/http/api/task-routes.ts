import { checkCode } from "../../containers/code-check.ts";
import { listed } from "../../nearest.ts";
import { nextTurn } from "../../next-turn.ts";
import type { AuditAction } from "../../records/audit/audit.ts";
import type { TaskRef } from "../../tasks/definition.ts";
import type { Changed, CodeCheck, Condition } from "../../tasks/task-changer.ts";
import { askerOf } from "../../tasks/task-packages.ts";
import { readRollBack } from "../../tasks/task-request.ts";
import type { Task } from "../../tasks/task.ts";
import type { DraftTask } from "../../tasks/tasks.ts";
import type { Caller } from "../../tokens/caller.ts";
import { requireContainer, requireVerb } from "../permissions.ts";
import { containerName, taskName } from "../target.ts";
import { sourceOfTask } from "../task-source.ts";
import { matchesNone, requireMatch, requireNoMatch } from "./etags.ts";
import { listPage } from "./list-page.ts";
import { DRY_RUN, LABELLED_PAGE, TASK_SOURCE } from "./queries.ts";
import { readQuery } from "./read-query.ts";
import {
  type Api,
  type ApiDependencies,
  audit,
  authenticate,
  type Call,
  type Changer,
  type Handler,
  json,
  jsonText,
  notModified,
  resource,
  lastSegment,
  segment,
} from "./route.ts";
import { shownLock } from "./shown-lock.ts";
import { isSource, readTaskMembers } from "./task-body.ts";

/** The tasks that a list reads in one turn of the event loop. A task with the most params takes up to 7 ms. */
export const TASKS_PER_TURN = 1;
const SEGMENT = "{[^/]*}";
const VERSION = /^[1-9]\d{0,8}$/;
const MAX_SECRETS_NAMED = 10;
const ROLL_BACK = 'Send JSON with the version, such as {"version":3}. GET .../versions lists the stored ones.';

/** Serves named tasks. A token needs the verb `tasks` and the task's container. */
export function serveTasks(api: Api, dependencies: ApiDependencies): void {
  const { tasks, issueRate } = dependencies;
  const path = `/api/tasks/:container${SEGMENT}`;
  resource(api, path, { GET: listTasks(dependencies) }, { GET: LABELLED_PAGE });
  resource(
    api,
    `${path}/:name${SEGMENT}`,
    {
      GET: async (call) => {
        const { ref, by } = await authorize(call, dependencies);
        const task = await tasks.find(ref.container, ref.name);
        if (!task) throw await tasks.missing(ref);
        const end = tasks.endOf(task);
        const { headers } = call.env.incoming;
        requireMatch(task.etag, headers);
        // The tag stays the same when a task ends, so the client may not have received this change yet.
        if (!end.expired && !end.revoked && !matchesNone(task.etag, headers))
          return notModified(["ETag", quoted(task)]);
        const more = { ...end, lock: shownLock(task.lock), secretNames: await tasks.secretNames(task) };
        if (!task.inline) return answer(200, task, more);
        const code = await tasks.codeOf(task, by.family);
        // The JSON of a megabyte takes milliseconds.
        await nextTurn(by.family);
        return answer(200, task, { ...more, ...code });
      },
      PUT: async (call) => {
        // The query of a source has the other members of the task, which are checked like members of JSON.
        const query = readQuery(call.env.incoming.url!, isSource(call) ? TASK_SOURCE : DRY_RUN);
        const { ref, by } = await authorize(call, dependencies);
        if (query.dryRun) return await dryRun(call, ref, by, dependencies);
        await issueRate.look(by);
        const members = await readTaskMembers(call, dependencies, by);
        const put = { ref, members, by, condition: conditionOf(call) };
        const changed = await putTask(call, put, dependencies);
        // The task is published when its packages are built.
        if (!changed) return json(202, { ...ref, build: { state: "building" } }, ["Retry-After", "2"]);
        const { task, change, dropped, isParsed } = changed;
        const hints = [...(isParsed ? [] : [NOT_PARSED]), ...hintOfDropped(dropped)];
        const headers = hints.length === 0 ? [] : ["Caisson-Hint", hints.join(" ")];
        return answer(change === "made" ? 201 : 200, task, { lock: shownLock(task.lock) }, headers);
      },
      DELETE: async (call) => {
        const { ref, by } = await authorize(call, dependencies);
        const task = await tasks.remove(ref, by, conditionOf(call));
        await auditTask(call, dependencies, "task deleted", task, by);
        return json(200, { ...ref, deleted: true });
      },
    },
    { PUT: TASK_SOURCE },
  );
  resource(api, `${path}/:name${SEGMENT}/versions`, {
    GET: async (call) => {
      const { ref, by } = await authorize(call, dependencies);
      const versions: string[] = [];
      for await (const task of tasks.versions(ref, by))
        versions.push(JSON.stringify({ ...describe(task), lock: shownLock(task.lock) }));
      if (versions.length === 0) throw await tasks.missing(ref);
      return jsonText(200, `{"versions":[${versions.join()}]}`);
    },
  });
  resource(api, `${path}/:name${SEGMENT}/versions/:version${SEGMENT}`, {
    GET: async (call) => {
      const { ref, by } = await authorize(call, dependencies);
      const number = VERSION.test(lastSegment(call)) ? Number(lastSegment(call)) : 0;
      const { task, code } = await tasks.version(ref, number, by);
      return json(200, { ...describe(task), ...code, lock: shownLock(task.lock) });
    },
  });
  resource(api, `${path}/:name${SEGMENT}/rollback`, {
    POST: async (call) => {
      const { ref, by } = await authorize(call, dependencies);
      await issueRate.look(by);
      const { version, secrets } = readRollBack(await readTaskMembers(call, dependencies, by, ROLL_BACK));
      const task = await tasks.rollBack(ref, version, secrets, by, conditionOf(call));
      await auditTask(call, dependencies, "task rolled back", task, by, `task rolled back to version ${version}`);
      return answer(200, task, { lock: shownLock(task.lock) });
    },
  });
}

export interface TaskPut {
  readonly ref: TaskRef;
  readonly members: unknown;
  readonly by: Caller;
  readonly condition: Condition;
}

/** A task after a PUT, and whether a guest has parsed the code, if the PUT has other code. */
export interface Put extends Changed {
  readonly isParsed: boolean;
}

/**
 * Creates or changes a task, after a check of its code, and records that.
 *
 * @returns null if its packages are still being built after a time. The task is then published when they are built.
 * @throws {Problem} as `Tasks.put`
 */
export async function putTask(call: Call, what: TaskPut, dependencies: ApiDependencies): Promise<Put | null> {
  const { tasks, proxies, log, config } = dependencies;
  const { ref, members, by, condition } = what;
  // The connection of the client may have ended when the packages are built.
  const changer = { claims: by.claims, quotaFamily: by.quotaFamily, client: proxies.clientOf(call.env.incoming) };
  const progress = { isBuilding: false, isAnswered: false };
  const put = async (): Promise<Put> => {
    let isParsed = true;
    const check = codeCheck(ref, by, dependencies);
    const checkOnce: CodeCheck = async (code, lock) => {
      isParsed = await check(code, lock);
    };
    const changed = await tasks.put(ref, members, by, condition, checkOnce, progress);
    const { task, change } = changed;
    // A PUT that changes nothing is not limited by a rate, so it must not add lines to the log.
    if (change !== "none") await auditTask(call, dependencies, `task ${change}`, task, changer);
    return { ...changed, isParsed };
  };
  const work = put();
  const late = Promise.withResolvers<null>();
  const onLate = (): void => {
    if (!progress.isBuilding) return;
    progress.isAnswered = true;
    late.resolve(null);
    work.catch((error: unknown) => log.pino.info({ ...ref, err: error }, "a task was not published after its build"));
  };
  const timer = setTimeout(onLate, config.packagesWait);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Runs the task of the request once, and answers with the record. Nothing is published. */
async function dryRun(call: Call, ref: TaskRef, by: Caller, dependencies: ApiDependencies): Promise<Response> {
  requireVerb(by.claims, "run", "a dry run");
  const readDraft = async (): Promise<DraftTask> => {
    const members = await readTaskMembers(call, dependencies, by);
    return await dependencies.tasks.draft(ref, members, by, conditionOf(call));
  };
  const { incoming, outgoing } = call.env;
  const { record, headers } = await dependencies.dryRun(incoming, outgoing, { ref, by, readDraft });
  return jsonText(200, `{"record":${record}}`, headers);
}

function codeCheck(
  { container }: TaskRef,
  by: Caller,
  { containers, policies, packages, config }: ApiDependencies,
): (...args: Parameters<CodeCheck>) => Promise<boolean> {
  return async (code, lock) => {
    const prepared = lock && (await packages.prepare(lock, askerOf(by), { waitMs: config.packagesTime }));
    // A suspended container has no guest, also none that parses code.
    if (policies.get(container)?.suspended) return false;
    return await checkCode(containers, container, await by.limitSubject(), sourceOfTask(code, prepared?.artefact));
  };
}

function listTasks(dependencies: ApiDependencies): Handler {
  const { tasks } = dependencies;
  return async (call) => {
    const by = await authenticate(call, dependencies);
    const container = containerName(segment(call, CONTAINER));
    const { cursor = "", limit, label: hasLabels } = readQuery(call.env.incoming.url!, LABELLED_PAGE);
    requireTasksVerb(by, container);
    const page = await listPage<Task>("tasks", cursor, limit, {
      read: (after, most) => tasks.list(container, after, most),
      entriesPerTurn: TASKS_PER_TURN,
      holder: by.family,
      cursorOf: ({ name }) => name,
      describe: (task) => ({ ...describe(task), ...tasks.endOf(task) }),
      filter: ({ labels }) => !hasLabels || hasLabels(labels),
    });
    return jsonText(200, page);
  };
}

async function authorize(call: Call, dependencies: ApiDependencies): Promise<{ ref: TaskRef; by: Caller }> {
  const by = await authenticate(call, dependencies);
  const container = containerName(segment(call, CONTAINER));
  const name = taskName(segment(call, NAME));
  requireTasksVerb(by, container);
  return { ref: { container, name }, by };
}

/** @throws {Problem} `token_forbidden` */
export function requireTasksVerb(by: Caller, container: string): void {
  requireVerb(by.claims, "tasks", "reading and changing tasks");
  requireContainer(by.claims, container, "tasks");
}

/** The indexes of these segments in `/api/tasks/{container}/{name}`. */
const CONTAINER = 3;
const NAME = 4;

/** Returns the precondition of a request (RFC 9110, section 13.1), so that a client overwrites no unseen change. */
function conditionOf(call: Call): Condition {
  const { headers } = call.env.incoming;
  return (etag) => {
    requireMatch(etag, headers);
    requireNoMatch(etag, headers);
  };
}

/** The hint of the answer if no guest could parse the code. */
export const NOT_PARSED =
  "No guest was free to parse the code, or the container is suspended: the first run shows whether the code has a fault.";

/** Names secrets that a change of code removed: the next run would be the first to notice. */
function hintOfDropped(names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const which = listed(names, MAX_SECRETS_NAMED);
  return [`Other code does not keep the secrets of the task: ${which}. Send secrets together with code.`];
}

function answer(status: number, task: Task, more: object = {}, headers: readonly string[] = []): Response {
  return json(status, { ...describe(task), ...more }, ["ETag", quoted(task), ...headers]);
}

function quoted({ etag }: Task): string {
  return `"${etag}"`;
}

/** Returns all members of a task except its code and its secrets. `exp` is in Unix seconds, as in a token. */
function describe({ container, name, version, etag, caller, inline, by, at, ...task }: Task): object {
  const { jti, exp, limits, timeout, net, fresh, params, code } = caller.claims;
  return {
    ...{ container, name, version, etag, jti },
    url: inline ? null : code!.url,
    sha256: code!.sha256 ?? null,
    public: task.public,
    errors: task.errors,
    record: task.record,
    tool: task.tool,
    input: task.input,
    packages: task.packages,
    labels: task.labels,
    description: task.description,
    ...{ params, limits, timeout, net, fresh, exp, by },
    changedAt: new Date(at).toISOString(),
  };
}

async function auditTask(
  call: Call,
  dependencies: ApiDependencies,
  action: AuditAction,
  task: Task,
  by: Changer,
  line?: string,
): Promise<void> {
  const { container, name, version, caller } = task;
  await audit(call, dependencies, action, by, { container, task: name, version, token: caller.claims.jti }, line);
}
