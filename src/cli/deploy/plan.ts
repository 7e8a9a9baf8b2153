import { isDeepStrictEqual } from "node:util";

import { type Caisson, CaissonError, type Task, type TaskRequest } from "../../../client/src/index.ts";
import { UsageError } from "../exits.ts";
import type { TaskSettings } from "./project.ts";
import type { Source } from "./source.ts";

/** A task as its author wants it. */
export interface Wanted {
  readonly name: string;
  /** The name of the file, for readers. */
  readonly file: string;
  readonly source: Source;
  /** Whether the code comes from a bundler, so that its lines are not those of the author. */
  readonly isBundled: boolean;
  readonly settings: TaskSettings;
}

/** What a deployment does with one task. */
export interface Step {
  readonly wanted: Wanted;
  /** The task as it is, or null if there is none. */
  readonly present: Task | null;
  /** The members that change. `code` stands for the code with its modules. */
  readonly changes: readonly string[];
  readonly request: TaskRequest;
}

export interface PlanOptions {
  /** Whether secrets are set again although the code is the same. */
  readonly secrets: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Compares tasks with those in the container. @throws {UsageError} if secrets are missing. @throws {CaissonError} */
export async function plan(
  { tasks }: Pick<Caisson, "tasks">,
  container: string,
  wanted: readonly Wanted[],
  options: PlanOptions,
): Promise<Step[]> {
  const steps: Step[] = [];
  for (const each of wanted) {
    const present = await presentTask(tasks, container, each.name);
    steps.push(stepFor(each, present, options));
  }
  const missing = new Set(
    steps.flatMap(({ wanted: { settings }, request }) =>
      request.secrets ? settings.secrets.filter((name) => options.environment[name] === undefined) : [],
    ),
  );
  if (missing.size > 0) {
    throw new UsageError(`these environment variables with secrets are not set: ${[...missing].join(", ")}`);
  }
  return steps;
}

async function presentTask(tasks: Caisson["tasks"], container: string, name: string): Promise<Task | null> {
  try {
    return await tasks.get(container, name);
  } catch (error) {
    if (error instanceof CaissonError && error.status === 404) return null;
    throw error;
  }
}

function stepFor(wanted: Wanted, present: Task | null, { secrets: again, environment }: PlanOptions): Step {
  const { source, settings } = wanted;
  const { code, modules, typescript } = source;
  const isOther = present === null || !hasCode(present, source);
  const members = Object.entries(settings.members).filter(
    ([name, value]) => present === null || differs(present, name, value),
  );
  // The end of a task moves only with another change, because it is relative to the moment of the change.
  const changes = [
    ...(isOther ? ["code"] : []),
    ...members.map(([name]) => name).filter((name) => name !== "expiresIn"),
  ];
  const setsSecrets = settings.secrets.length > 0 && (isOther || again || lacksSecret(present, settings.secrets));
  if (setsSecrets) changes.push("secrets");
  const request = {
    ...Object.fromEntries(members),
    ...(isOther && { code, modules, typescript }),
    ...(setsSecrets && {
      secrets: Object.fromEntries(settings.secrets.map((name) => [name, environment[name] ?? ""])),
    }),
  } as TaskRequest;
  return { wanted, present, changes, request };
}

/** Whether the stored task lacks a secret of the file. The service shows the names of secrets, and no values. */
function lacksSecret({ secretNames }: Task, wanted: readonly string[]): boolean {
  return secretNames != null && wanted.some((name) => !secretNames.includes(name));
}

function hasCode(present: Task, { code, modules, typescript }: Source): boolean {
  const isSame = present.code === code && isDeepStrictEqual({ ...present.modules }, { ...modules });
  return isSame && (present.typescript ?? false) === typescript && !present.revoked && !present.expired;
}

/** Members whose `null` removes what the task then shows as an empty object. */
const EMPTY: ReadonlySet<string> = new Set(["limits", "labels"]);

function differs(present: Task, name: string, value: unknown): boolean {
  if (name === "expiresIn") return true;
  const shown = present[name as keyof Task];
  const wanted = value === null && EMPTY.has(name) ? {} : value;
  return !isDeepStrictEqual(wanted, shown ?? null);
}
