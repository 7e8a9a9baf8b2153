import { checkCode } from "../../containers/code-check.ts";
import { Problem } from "../../errors.ts";
import type { JsonVisitor } from "../../source/json-scanner.ts";
import { checkJson, nameAt, parseJson } from "../../source/json.ts";
import { withoutPreamble } from "../../source/text.ts";
import type { TaskRef } from "../../tasks/definition.ts";
import { readRollBack } from "../../tasks/task-request.ts";
import type { Task } from "../../tasks/task.ts";
import type { CodeCheck, Condition } from "../../tasks/tasks.ts";
import type { Caller } from "../../tokens/caller.ts";
import { permitsContainer, permitsVerb } from "../../tokens/claims.ts";
import { containerName, taskName } from "../target.ts";
import { matches, matchesNone } from "./etags.ts";
import { listPage } from "./list-page.ts";
import { DRY_RUN, LABELLED_PAGE } from "./queries.ts";
import { readBytes } from "./read-json.ts";
import { readQuery } from "./read-query.ts";
import {
  type Api,
  type ApiDependencies,
  audit,
  authenticate,
  type Call,
  forbidden,
  type Handler,
  json,
  jsonText,
  notModified,
  resource,
  segment,
} from "./route.ts";

/** How many times longer code may be in JSON, because of its escapes. */
const ESCAPE_FACTOR = 4;
/** The most JSON bytes of each other member, such as params. One turn of the event loop parses and walks a member. */
const MAX_OTHER_BYTES = 96 * 2 ** 10;
/** The most JSON bytes of secrets: 64 KiB of secrets, some of them escaped. */
const MAX_SECRETS_BYTES = 256 * 2 ** 10;
/** The most members. There are fewer known members, so a few unknown members are still reported by name. */
const MAX_MEMBERS = 32;
/** The tasks that a list reads in one turn of the event loop. A task with the most params takes up to 7 ms. */
const TASKS_PER_TURN = 1;
const SEGMENT = "{[^/]*}";

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
        const { ref } = await authorize(call, dependencies);
        const task = await tasks.find(ref.container, ref.name);
        if (!task) throw noSuchTask();
        const end = tasks.endOf(task);
        const { headers } = call.env.incoming;
        if (!matches(task.etag, headers)) {
          throw new Problem("precondition_failed", "the ETag of the task does not match If-Match");
        }
        // The tag stays the same when a task ends, so the client may not have received this change yet.
        if (!end.expired && !end.revoked && !matchesNone(task.etag, headers))
          return notModified(["ETag", quoted(task)]);
        return answer(200, task, {
          ...end,
          code: task.inline ? (await tasks.codeOf(task)).toString() : undefined,
        });
      },
      PUT: async (call) => {
        const { ref, by } = await authorize(call, dependencies);
        if (readQuery(call.env.incoming.url!, DRY_RUN).dryRun) return await dryRun(call, ref, by, dependencies);
        await issueRate.look(by);
        const members = await readMembers(call, dependencies, by);
        const check = codeCheck(ref, by, dependencies);
        const { task, change } = await tasks.put(ref, members, by, conditionOf(call), check);
        // A PUT that changes nothing is not limited by a rate, so it must not add lines to the log.
        if (change !== "none") await auditTask(call, dependencies, `task ${change}`, task, by);
        return answer(change === "made" ? 201 : 200, task);
      },
      DELETE: async (call) => {
        const { ref, by } = await authorize(call, dependencies);
        const task = await tasks.remove(ref, by, conditionOf(call));
        await auditTask(call, dependencies, "task deleted", task, by);
        return json(200, { ...ref, deleted: true });
      },
    },
    { PUT: DRY_RUN },
  );
  resource(api, `${path}/:name${SEGMENT}/versions`, {
    GET: async (call) => {
      const { ref, by } = await authorize(call, dependencies);
      const versions = await tasks.versions(ref, by);
      if (versions.length === 0) throw noSuchTask();
      return json(200, { versions: versions.map((task) => describe(task)) });
    },
  });
  resource(api, `${path}/:name${SEGMENT}/rollback`, {
    POST: async (call) => {
      const { ref, by } = await authorize(call, dependencies);
      await issueRate.look(by);
      const { version, secrets } = readRollBack(await readMembers(call, dependencies, by));
      const task = await tasks.rollBack(ref, version, secrets, by, conditionOf(call));
      await auditTask(call, dependencies, `task rolled back to version ${version}`, task, by, "task rolled back");
      return answer(200, task);
    },
  });
}

/** Runs the task of the request once, and answers with the record. Nothing is published. */
async function dryRun(call: Call, ref: TaskRef, by: Caller, dependencies: ApiDependencies): Promise<Response> {
  if (!permitsVerb(by.claims, "run")) throw forbidden();
  const members = await readMembers(call, dependencies, by);
  const draft = await dependencies.tasks.draft(ref, members, by, conditionOf(call));
  const { incoming, outgoing } = call.env;
  return jsonText(200, `{"record":${await dependencies.dryRun(incoming, outgoing, draft, by)}}`);
}

function codeCheck({ container }: TaskRef, by: Caller, { containers }: ApiDependencies): CodeCheck {
  return async (code) => {
    await checkCode(containers, container, await by.limitSubject(), withoutPreamble(Buffer.from(code)));
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

function noSuchTask(): Problem {
  return new Problem("not_found", "the container has no task with this name");
}

function requireTasksVerb(by: Caller, container: string): void {
  if (!permitsContainer(by.claims, container) || !permitsVerb(by.claims, "tasks")) throw forbidden();
}

/** The indexes of these segments in `/api/tasks/{container}/{name}`. */
const CONTAINER = 3;
const NAME = 4;

/** @throws {Problem} `code_too_large`, `request_invalid` */
async function readMembers(call: Call, dependencies: ApiDependencies, by: Caller): Promise<unknown> {
  const { codeLimit, jsonDepthLimit } = dependencies.config;
  const limitBytes = codeLimit * ESCAPE_FACTOR + MAX_SECRETS_BYTES + MAX_OTHER_BYTES;
  const tooLarge = (): Problem => {
    return new Problem("code_too_large", `the body is longer than the limit of ${limitBytes} bytes`);
  };
  return await readBytes(call, dependencies, by, { limitBytes, tooLarge }, async (body) => {
    await checkJson(body, jsonDepthLimit, by.family, memberBounds(body));
    return await parseJson(body, jsonDepthLimit, by.family);
  });
}

/**
 * Rejects members that would take too long to build and walk, before they are built. No valid task has such members.
 */
function memberBounds(body: Buffer): JsonVisitor {
  let names = 0;
  return {
    named: (depth) => {
      if (depth === 1) names += 1;
      if (names > MAX_MEMBERS) throw new Problem("request_invalid", `a task has at most ${MAX_MEMBERS} members`);
    },
    member: (depth, name, { start, end }) => {
      if (depth !== 1) return;
      const member = nameAt(body, name);
      const bytes = end - start;
      const bound = member === "code" ? Infinity : member === "secrets" ? MAX_SECRETS_BYTES : MAX_OTHER_BYTES;
      if (bytes <= bound) return;
      throw new Problem("request_invalid", `${member.slice(0, 64)} has ${bytes} bytes; at most ${bound} are accepted`);
    },
  };
}

/** Returns the precondition of a request (RFC 9110, section 13.1), so that a client overwrites no unseen change. */
function conditionOf(call: Call): Condition {
  const { headers } = call.env.incoming;
  return (etag) => matches(etag, headers) && matchesNone(etag, headers);
}

function answer(status: number, task: Task, more: object = {}): Response {
  return json(status, { ...describe(task), ...more }, ["ETag", quoted(task)]);
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
    labels: task.labels,
    description: task.description,
    ...{ params, limits, timeout, net, fresh, exp, by },
    changedAt: new Date(at).toISOString(),
  };
}

async function auditTask(
  call: Call,
  dependencies: ApiDependencies,
  change: string,
  task: Task,
  by: Caller,
  action: string = change,
): Promise<void> {
  const { container, name, version, caller } = task;
  await audit(call, dependencies, change, by, { container, task: name, version, token: caller.claims.jti }, action);
}
