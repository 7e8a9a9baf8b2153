import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";

import { nearest } from "../../nearest.ts";
import { nextTurn } from "../../next-turn.ts";
import type { Task } from "../../tasks/task.ts";
import { permitsVerb } from "../../tokens/claims.ts";
import { isName } from "../target.ts";
import { GET_RUNS } from "./get-runs.ts";
import type { McpTarget } from "./mcp-call.ts";
import { RUN_CODE } from "./run-code.ts";
import { LIST_TASKS, SAVE_TASK } from "./task-tools.ts";
import { argumentsOf, jsonSchemaOf, type ListedTool, type OwnTool } from "./tool.ts";

/** The most tasks of a page. A container may have a thousand, with schemas of 16 KiB. */
const MAX_TASKS = 100;
/** The characters after which a page has no further task. */
const MAX_CHARS = 2 ** 18;

const OWN: readonly OwnTool[] = [RUN_CODE, SAVE_TASK, LIST_TASKS, GET_RUNS];

interface ToolPage {
  readonly [member: string]: unknown;
  readonly tools: ListedTool[];
  readonly nextCursor?: string;
}

/** Returns a page of the tools that the token may call: the tools of the service, and then the tasks that are tools. */
export async function listTools(target: McpTarget, cursor: string | undefined): Promise<ToolPage> {
  if (cursor !== undefined && !isName(cursor)) {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, "the cursor is not the nextCursor of a page");
  }
  const tools = cursor === undefined ? ownTools(target).map((tool) => described(tool, target)) : [];
  const { container, by, tasks } = target;
  if (container === null || !mayRunTasks(target)) return { tools };
  let chars = 0;
  let last = cursor ?? "";
  for (let after = last; ;) {
    // As a list of tasks: a task with the most params takes milliseconds to read.
    await nextTurn(by.family);
    const [task] = await tasks.list(container, after, 1);
    if (!task) return { tools };
    after = task.name;
    if (!isTool(task, target)) continue;
    if (chars > MAX_CHARS || tools.length >= MAX_TASKS) return { tools, nextCursor: last };
    const tool = describedTask(task);
    chars += JSON.stringify(tool).length;
    tools.push(tool);
    last = task.name;
  }
}

/** Returns the tool of the service with this name, if the token may call it. */
export function findOwnTool(name: string, target: McpTarget): OwnTool | null {
  return ownTools(target).find((tool) => tool.name === name) ?? null;
}

/** Returns the names of the tools of the service that the token may call. */
export function namesOfOwnTools(target: McpTarget): string[] {
  return ownTools(target).map(({ name }) => name);
}

/** Returns the tool that a wrong name probably means, or why the tool is missing, after a separator; or an empty text. */
export async function toolMeant(name: string, target: McpTarget): Promise<string> {
  const { container, tasks } = target;
  const refused = OWN.find((tool) => tool.name === name);
  if (refused) return `: ${name} needs a token with the verb ${refused.verb}`;
  const own = nearest(name, namesOfOwnTools(target));
  if (own !== null) return `; did you mean ${own}?`;
  if (container === null || !isName(name) || !mayRunTasks(target)) return "";
  const near = await tasks.near({ container, name });
  const task = near === null ? null : await tasks.find(container, near);
  // A token that runs tasks is shown those that are tools, and no other.
  return task && isTool(task, target) ? `; did you mean ${near}?` : "";
}

/** Returns the task that is the tool of this name, or null. */
export async function findTaskTool(name: string, target: McpTarget): Promise<Task | null> {
  const { container, tasks } = target;
  if (container === null || !isName(name) || !mayRunTasks(target)) return null;
  const task = await tasks.find(container, name);
  return task && isTool(task, target) ? task : null;
}

function ownTools({ by: { claims } }: McpTarget): OwnTool[] {
  return OWN.filter(({ name, verb }) => {
    // A token that runs the code of one URL runs no other.
    return permitsVerb(claims, verb) && (name !== RUN_CODE.name || claims.code?.url === undefined);
  });
}

/** A token that is pinned to code runs no task. */
function mayRunTasks({ by: { claims } }: McpTarget): boolean {
  return permitsVerb(claims, "run") && claims.code === null;
}

function isTool(task: Task, { tasks }: McpTarget): boolean {
  if (!task.tool) return false;
  const { expired, revoked } = tasks.endOf(task);
  return !expired && !revoked;
}

function described(tool: OwnTool, target: McpTarget): ListedTool {
  const { name, title, isReadOnly } = tool;
  return {
    name,
    title,
    description: tool.describe(target),
    inputSchema: jsonSchemaOf(argumentsOf(tool, target)),
    annotations: { readOnlyHint: isReadOnly },
  };
}

function describedTask({ name, description, input }: Task): ListedTool {
  return {
    name,
    description: description ?? `Runs the task ${name}.`,
    inputSchema: (input ?? { type: "object" }) as ListedTool["inputSchema"],
  };
}
