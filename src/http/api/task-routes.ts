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
import { containerName, parseTarget, taskName } from "../target.ts";
import { matches, matchesNone } from "./etags.ts";
import { listPage } from "./list-page.ts";
import { pageQuery } from "./page-query.ts";
import { readBytes } from "./read-json.ts";
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
} from "./route.ts";

/** Escapes make code longer than it is. */
const ESCAPE_FACTOR = 4;
/** Of params, limits and their kind, as they are written: each is built and walked in one turn of the event loop. */
const MAX_OTHER_BYTES = 96 * 2 ** 10;
/** 64 KiB of secrets, of which some are escaped. */
const MAX_SECRETS_BYTES = 256 * 2 ** 10;
/** More than there are, so that a few that are unknown are reported by name. */
const MAX_MEMBERS = 32;
/** A task with as many params as it may have takes up to seven milliseconds to be read. */
const LISTED = 1;
const SEGMENT = "{[^/]*}";

/** Named tasks, for who may keep them in their container. */
export function serveTasks(api: Api, dependencies: ApiDependencies): void {
  const { tasks, issueRate } = dependencies;
  const path = `/api/tasks/:container${SEGMENT}`;
  resource(api, path, { GET: listTasks(dependencies) });
  resource(api, `${path}/:name${SEGMENT}`, {
    GET: async (call) => {
      const { place } = await permitted(call, dependencies);
      const task = await tasks.find(place.container, place.name);
      if (!task) throw new Problem("not_found", "there is no task of that name in the container");
      const end = tasks.endOf(task);
      const { headers } = call.env.incoming;
      if (!matches(task.etag, headers)) {
        throw new Problem("precondition_failed", "the task is not the one that you mean");
      }
      // The tag tells nothing of the end of a task, which the client may not have seen yet.
      if (!end.expired && !end.revoked && !matchesNone(task.etag, headers)) return notModified(["ETag", quoted(task)]);
      return answer(200, task, {
        ...end,
        code: task.inline ? (await tasks.codeOf(task)).toString() : undefined,
      });
    },
    PUT: async (call) => {
      const { place, by } = await permitted(call, dependencies);
      await issueRate.look(by);
      const members = await readMembers(call, dependencies, by);
      const check = codeCheck(place, by, dependencies);
      const { task, change } = await tasks.put(place, members, by, conditionOf(call), check);
      // A PUT that changes nothing is not counted: the log must not grow by it.
      if (change !== "none") auditTask(call, dependencies, `task ${change}`, task, by);
      return answer(change === "made" ? 201 : 200, task);
    },
    DELETE: async (call) => {
      const { place, by } = await permitted(call, dependencies);
      const task = await tasks.remove(place, by, conditionOf(call));
      auditTask(call, dependencies, "task deleted", task, by);
      return json(200, { ...place, deleted: true });
    },
  });
  resource(api, `${path}/:name${SEGMENT}/versions`, {
    GET: async (call) => {
      const { place, by } = await permitted(call, dependencies);
      const versions = await tasks.versions(place, by);
      if (versions.length === 0) throw new Problem("not_found", "there is no task of that name in the container");
      return json(200, { versions: versions.map((task) => described(task)) });
    },
  });
  resource(api, `${path}/:name${SEGMENT}/rollback`, {
    POST: async (call) => {
      const { place, by } = await permitted(call, dependencies);
      await issueRate.look(by);
      const { version, secrets } = readRollBack(await readMembers(call, dependencies, by));
      const task = await tasks.rollBack(place, version, secrets, by, conditionOf(call));
      auditTask(call, dependencies, `task rolled back to version ${version}`, task, by);
      return answer(200, task);
    },
  });
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
    const { after, count } = pageQuery(call);
    mustKeepTasks(by, container);
    const page = await listPage<Task>("tasks", after, count, {
      read: (cursor, some) => tasks.list(container, cursor, some),
      atOnce: LISTED,
      holder: by.family,
      cursorOf: ({ name }) => name,
      describe: (task) => ({ ...described(task), ...tasks.endOf(task) }),
    });
    return jsonText(200, page);
  };
}

async function permitted(call: Call, dependencies: ApiDependencies): Promise<{ place: TaskRef; by: Caller }> {
  const by = await authenticate(call, dependencies);
  const container = containerName(segment(call, CONTAINER));
  const name = taskName(segment(call, NAME));
  mustKeepTasks(by, container);
  return { place: { container, name }, by };
}

function mustKeepTasks(by: Caller, container: string): void {
  if (!permitsContainer(by.claims, container) || !permitsVerb(by.claims, "tasks")) throw forbidden();
}

/** Their places in `/api/tasks/{container}/{name}`. */
const CONTAINER = 3;
const NAME = 4;

/** As it came: Hono would decode it before we can judge it. */
function segment(call: Call, at: number): string {
  return parseTarget(call.env.incoming.url!).path.split("/")[at]!;
}

/** @throws {Problem} `code_too_large`, `request_invalid` */
async function readMembers(call: Call, dependencies: ApiDependencies, by: Caller): Promise<unknown> {
  const { codeLimit, jsonDepthLimit } = dependencies.config;
  const most = codeLimit * ESCAPE_FACTOR + MAX_SECRETS_BYTES + MAX_OTHER_BYTES;
  const tooLarge = (): Problem => {
    return new Problem("code_too_large", `the body is longer than the ${most} bytes that are taken`);
  };
  return await readBytes(call, dependencies, by, { limitBytes: most, tooLarge }, async (body) => {
    await checkJson(body, jsonDepthLimit, by.family, memberBounds(body));
    return await parseJson(body, jsonDepthLimit, by.family);
  });
}

/** Refuses what would take long to be built and walked, before that is done: none of it could be a task's. */
function memberBounds(body: Buffer): JsonVisitor {
  let names = 0;
  return {
    named: (depth) => {
      if (depth === 1) names += 1;
      if (names > MAX_MEMBERS) throw new Problem("request_invalid", `a task has no more than ${MAX_MEMBERS} members`);
    },
    member: (depth, name, { start, end }) => {
      if (depth !== 1) return;
      const member = nameAt(body, name);
      const bytes = end - start;
      const bound = member === "code" ? Infinity : member === "secrets" ? MAX_SECRETS_BYTES : MAX_OTHER_BYTES;
      if (bytes <= bound) return;
      throw new Problem("request_invalid", `${member.slice(0, 64)} has ${bytes} bytes; at most ${bound} are taken`);
    },
  };
}

/** RFC 9110, section 13.1: what was changed meanwhile is not overwritten by who does not know it. */
function conditionOf(call: Call): Condition {
  const { headers } = call.env.incoming;
  return (etag) => matches(etag, headers) && matchesNone(etag, headers);
}

function answer(status: number, task: Task, more: object = {}): Response {
  return json(status, { ...described(task), ...more }, ["ETag", quoted(task)]);
}

function quoted({ etag }: Task): string {
  return `"${etag}"`;
}

/** All of it but its code and its secrets. Times are in Unix seconds. */
function described({ container, name, version, etag, caller, inline, by, at, ...task }: Task): object {
  const { jti, exp, limits, net, fresh, params, code } = caller.claims;
  return {
    ...{ container, name, version, etag, jti },
    url: inline ? null : code!.url,
    sha256: code!.sha256 ?? null,
    public: task.public,
    ...{ params, limits, net, fresh, exp, by },
    changedAt: Math.floor(at / 1_000),
  };
}

function auditTask(call: Call, dependencies: ApiDependencies, what: string, task: Task, by: Caller): void {
  const { container, name, version, caller } = task;
  audit(call, dependencies, what, {
    ...{ container, task: name, version },
    ...{ token: caller.claims.jti, by: by.claims.jti },
  });
}
