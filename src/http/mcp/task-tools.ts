import { z } from "zod";

import { Problem } from "../../errors.ts";
import { membersProblem } from "../../members.ts";
import { rangesMember } from "../../packages/member.ts";
import type { Ranges } from "../../packages/names.ts";
import type { Task } from "../../tasks/task.ts";
import { TOOL_NAME_RULE } from "../../tasks/tool-name.ts";
import { listEntries } from "../api/list-page.ts";
import { shownLock } from "../api/shown-lock.ts";
import { NOT_PARSED, putTask, requireTasksVerb, TASKS_PER_TURN } from "../api/task-routes.ts";
import { isName, taskName } from "../target.ts";
import { cut } from "./cut.ts";
import { MAX_TEXT_BYTES } from "./refused.ts";
import { separated } from "./structured-text.ts";
import type { OwnTool, ToolResult } from "./tool.ts";

interface Saved {
  readonly name: string;
  readonly code: string;
  readonly description?: string;
  readonly input?: Readonly<Record<string, unknown>>;
  readonly tool?: boolean;
  readonly packages?: Ranges;
  readonly timeout?: string;
}

interface Listed {
  readonly name?: string;
  readonly cursor?: string;
}

const NAME = z.string("must be the name of a task");
/** The most tasks of a list. */
const MAX_TASKS = 100;

/** Creates or changes a named task. It can change the members that its arguments have, and no others. */
export const SAVE_TASK: OwnTool<Saved> = {
  name: "save_task",
  title: "Save a task",
  verb: "tasks",
  isReadOnly: false,
  schema: z.strictObject({
    name: NAME.meta({ description: "1 to 64 letters, digits, _ and -" }),
    code: z.string("must be the code, as text").meta({
      description: "the code of the task: export default async (context) => ..., where context.body is the input",
    }),
    description: z.string().optional().meta({ description: "what the tool does, for the model that calls it" }),
    input: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({ description: 'the JSON Schema of the input, with "type": "object"' }),
    tool: z.boolean().optional().meta({ description: "whether the task becomes a tool of this server; default: true" }),
    packages: rangesMember.optional().meta({
      description: 'the npm packages that the code imports, with their ranges, such as {"zod": "^4"}',
    }),
    timeout: z.string().optional().meta({ description: "the longest that a run may take, such as 5s" }),
  }),
  describe: () =>
    "Saves code as a named task, which then is a tool of this server. A task of the same name gets a new version; members that are left out stay as they were. Try the code with run_code first. The code must return its value: unlike in run_code, a last expression is not enough.",
  call: async ({ received, container, given }) => {
    const { by, call, issueRate } = received;
    requireTasksVerb(by, container);
    const { name, tool, ...members } = given;
    if (tool !== false && !isName(name)) throw membersProblem("the task", [{ member: "name", detail: TOOL_NAME_RULE }]);
    const ref = { container, name: taskName(name) };
    await issueRate.look(by);
    const before = tool === undefined ? await received.tasks.find(container, name) : null;
    const put = { ref, members: { ...members, tool: tool ?? before?.tool ?? true }, by, condition: () => {} };
    const changed = await putTask(call, put, received);
    if (!changed)
      return resultOf(`The packages of ${name} are being built. Then the task is saved.`, '{"building":true}');
    const { task, change, dropped, isParsed } = changed;
    const done = { made: "created", changed: "changed", none: "unchanged" }[change];
    const lost = dropped.length === 0 ? "" : " Other code does not keep the secrets of the task.";
    return resultOf(
      `The task ${task.name} is ${done}: version ${task.version}.${packagesOf(task, " ")}${lost}${isParsed ? "" : ` ${NOT_PARSED}`}`,
      JSON.stringify({ task: { ...shown(task), lock: shownLock(task.lock) }, change }),
    );
  },
};

/** Lists the named tasks, or shows one with its code. */
export const LIST_TASKS: OwnTool<Listed> = {
  name: "list_tasks",
  title: "List tasks",
  verb: "tasks",
  isReadOnly: true,
  schema: z.strictObject({
    name: NAME.optional().meta({ description: "shows only this task, with its code" }),
    cursor: NAME.optional().meta({ description: "next of the previous page" }),
  }),
  describe: () =>
    "Lists the named tasks of the container, with their versions. With name, it shows one task with its code.",
  call: async ({ received, container, given: { name, cursor = "" } }) => {
    const { by, tasks } = received;
    requireTasksVerb(by, container);
    if (name !== undefined) {
      const task = await tasks.find(container, taskName(name));
      if (!task) throw noSuchTask(await tasks.near({ container, name }));
      const code = task.inline ? await tasks.codeOf(task, by.family) : null;
      const text = code === null ? `(code of ${task.caller.claims.code?.url ?? "a URL"})` : code.code;
      const about = `${line(task)}${packagesOf(task, "\n")}\n${JSON.stringify(task.input)}`;
      const one = { task: { ...shown(task), ...code, lock: shownLock(task.lock) } };
      return resultOf(`${about}\n\n${text}`, JSON.stringify(one));
    }
    const lines: string[] = [];
    const { entries, next } = await listEntries<Task>(cursor, MAX_TASKS, {
      read: (after, most) => tasks.list(container, after, most),
      entriesPerTurn: TASKS_PER_TURN,
      holder: by.family,
      cursorOf: (task) => task.name,
      describe: (task) => {
        lines.push(line(task));
        return shown(task);
      },
    });
    if (lines.length === 0) lines.push("There are no tasks.");
    if (next !== null) lines.push(`More follow after ${next}: set cursor.`);
    return resultOf(lines.join("\n"), '{"tasks":[', ...separated(entries), `],"next":${JSON.stringify(next)}}`);
  },
};

function noSuchTask(near: string | null): Problem {
  const meant = near === null ? "" : `Did you mean ${near}? `;
  return new Problem("not_found", "the container has no task with this name", {
    hint: `${meant}list_tasks without name lists the tasks.`,
  });
}

function line({ name, version, tool, description }: Task): string {
  return `${name}, version ${version}${tool ? ", a tool" : ""}${description === null ? "" : `: ${description}`}`;
}

function shown({ name, version, tool, input, description, packages, public: isPublic, at }: Task): object {
  const changedAt = new Date(at).toISOString();
  return { name, version, tool, input, description, packages, public: isPublic, changedAt };
}

/** Returns a sentence with the versions of the packages that a task names, after a separator; empty if it names none. */
function packagesOf({ lock }: Task, separator: string): string {
  const versions = lock ? Object.values(lock.roots) : [];
  return versions.length === 0 ? "" : `${separator}Its packages are ${versions.join(", ")}.`;
}

/** @param structuredTexts the structured content, as parts of JSON */
function resultOf(text: string, ...structuredTexts: string[]): ToolResult {
  return { content: [{ type: "text", text: cut(text, MAX_TEXT_BYTES) }], structuredTexts };
}
