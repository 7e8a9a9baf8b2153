import { existsSync, readdirSync, statSync } from "node:fs";
import path from "node:path";

import { didYouMean } from "../../nearest.ts";
import { UsageError } from "../exits.ts";
import { PROJECT_FILE, readPackages, readProjectFile } from "../target/project-file.ts";

/** A folder of tasks that `caisson deploy` puts into one container. */
export interface Project {
  readonly folder: string;
  readonly container: string;
  /** Whether each task is bundled with its imports, by the esbuild of the project. */
  readonly bundle: boolean;
  /** The tasks by name, in alphabetical order. */
  readonly tasks: readonly ProjectTask[];
}

export interface ProjectTask {
  readonly name: string;
  readonly file: string;
  readonly settings: TaskSettings;
}

/** Members of `PUT /api/tasks/{container}/{name}`, as in `caisson.json`. */
export interface TaskSettings {
  readonly members: Readonly<Record<string, unknown>>;
  /** The names of the secrets. Their values are environment variables, because the file is shared. */
  readonly secrets: readonly string[];
}

/** The folder of the tasks in the folder of a project. */
export const TASKS_FOLDER = "tasks";
const SOURCE = /^(?!.*\.d\.ts$)(.+)\.[cm]?[jt]s$/;
const MEMBERS = ["url", "container", "bundle", "packages", "tasks"];
const TASK_MEMBERS = [
  ...["public", "errors", "record", "fresh", "net", "limits", "timeout", "labels", "description", "params"],
  ...["exp", "expiresIn", "secrets", "packages"],
];

/** Reads `caisson.json` and the names of the task files. @throws {UsageError} with all faults */
export function readProject(folder: string): Project {
  const file = path.join(folder, PROJECT_FILE);
  const content = readProjectFile(folder);
  if (content === null) throw new UsageError(withoutProject(folder, file));
  const faults: string[] = [];
  const { container, bundle = false, tasks = {} } = content;
  faults.push(...unknown(Object.keys(content), MEMBERS, ""));
  if (typeof container !== "string" || container === "") faults.push('container must be a name, such as "acme"');
  if (typeof bundle !== "boolean") faults.push("bundle must be true or false");
  const packages = readPackages(content["packages"], file);
  const found = findTasks(folder);
  const settings = isObject(tasks) ? tasks : {};
  if (!isObject(tasks))
    faults.push('tasks must be an object by the names of tasks, such as {"hook": {"public": true}}');
  for (const [name, value] of Object.entries(settings)) faults.push(...faultsOf(name, value, found));
  if (faults.length > 0) throw new UsageError(faults.map((fault) => `${file}: ${fault}`).join("\n"));
  return {
    ...{ folder, container: container as string, bundle: bundle as boolean },
    tasks: found.map(({ name, file: source }) => ({
      name,
      file: source,
      settings: settingsOf(settings[name], packages),
    })),
  };
}

/** Returns what a folder without `caisson.json` is. */
function withoutProject(folder: string, file: string): string {
  if (/\.[cm]?[jt]sx?$/.test(folder))
    return `deploy takes a folder with ${PROJECT_FILE}, and ${folder} is a file; one file: caisson tasks deploy CONTAINER ${folder}`;
  if (statSync(folder, { throwIfNoEntry: false })?.isFile())
    return `deploy takes a folder with ${PROJECT_FILE}, and ${folder} is a file; caisson init makes a folder`;
  if (!existsSync(folder))
    return `there is no ${file}; caisson init makes one, and it names the container. deploy takes its folder`;
  return `there is no ${file}; caisson init makes one`;
}

/** @param common the packages of all tasks */
function settingsOf(value: unknown, common: Readonly<Record<string, string>> | undefined): TaskSettings {
  const { secrets = [], ...members } = (value ?? {}) as Record<string, unknown>;
  const own = members["packages"];
  const packages = common === undefined || own === null ? own : { ...common, ...own };
  return { members: { ...members, ...(packages !== undefined && { packages }) }, secrets: secrets as string[] };
}

/** Returns the faults of the settings of one task. The service checks the values. */
function faultsOf(name: string, value: unknown, found: readonly { readonly name: string }[]): string[] {
  const names = found.map((each) => each.name);
  if (!names.includes(name))
    return [`tasks.${name}: there is no file ${TASKS_FOLDER}/${name}.ts${didYouMean(name, names)}`];
  if (!isObject(value)) return [`tasks.${name} must be an object, such as {"public": true}`];
  const { secrets = [] } = value;
  const areNames = Array.isArray(secrets) && secrets.every((each) => typeof each === "string" && each !== "");
  return [
    ...unknown(Object.keys(value), TASK_MEMBERS, `tasks.${name}.`),
    ...(areNames ? [] : [`tasks.${name}.secrets must be names of environment variables, such as ["STRIPE_KEY"]`]),
  ];
}

const SCHEDULE = /^(?:cron|schedules?|triggers?|interval|every)$/;
/** Members of a task that the file cannot have, and what sets them. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  tool: "; PUT /api/tasks/{container}/{name} sets it, with the code",
  input: "; PUT /api/tasks/{container}/{name} sets it, with the code",
  typescript: "; the ending of the file decides it",
};
const MAX_LISTED = 30;

function unknown(names: readonly string[], known: readonly string[], prefix: string): string[] {
  const wrong = names.filter((name) => !known.includes(name) && !name.startsWith("$"));
  return wrong.map((name) => {
    const why = SCHEDULE.test(name)
      ? ", because the service has no schedule; let cron call /api/run/{container}/{name}"
      : (known === TASK_MEMBERS && Object.hasOwn(ELSEWHERE, name) && ELSEWHERE[name]) ||
        didYouMean(name, known) ||
        (known.length <= MAX_LISTED ? `; the members are ${known.join(", ")}` : "");
    return `${prefix}${name} is not a known member${why}`;
  });
}

/** Returns the files of a project's tasks. Files in further folders are modules. */
function findTasks(folder: string): { name: string; file: string }[] {
  const tasks = path.join(folder, TASKS_FOLDER);
  let names: string[];
  try {
    names = readdirSync(tasks, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [] : [entry.name]));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") {
      const what = `each task is a .ts or .js file in it, such as ${path.join(tasks, "hello.ts")} for the task hello`;
      throw new UsageError(`there is no folder ${tasks}: ${what}`, { cause: error });
    }
    throw new UsageError(`${tasks} cannot be read: ${(error as Error).message}`, { cause: error });
  }
  const found = names.flatMap((file) => {
    const name = SOURCE.exec(file)?.[1];
    return name === undefined ? [] : [{ name, file: path.join(tasks, file) }];
  });
  if (found.length === 0) throw new UsageError(`there are no tasks: ${tasks} has no .ts and no .js file`);
  const sorted = found.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const twice = sorted.find(({ name }, at) => sorted[at + 1]?.name === name);
  if (twice) throw new UsageError(`two files in ${tasks} are for the task ${twice.name}`);
  return sorted;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
