import type {
  AnsweredRunRecord,
  DeletedTask,
  DryRun,
  Routes,
  StoredTask,
  Task,
  TaskPage,
  TaskRequest,
  TaskVersions,
} from "../api-types.ts";
import { CaissonError } from "../error.ts";
import { List } from "../list.ts";
import { mustBeOptions } from "../options.ts";
import { nameOthers } from "../other-methods.ts";
import { wait } from "../retry.ts";
import type { RequestOptions, Transport } from "../transport.ts";

const TASK = '{ code: "return 1" }';
/** The time between two questions for a build. */
const POLL_MS = 1_000;

export type TaskVersion = TaskVersions["versions"][number];

export interface ChangeOptions extends RequestOptions {
  /** The `etag` of the task that you have seen. If it is not the current one, the error is `precondition_failed`. */
  readonly ifMatch?: string | undefined;
  /** `"*"`: only creates the task, and never changes one. */
  readonly ifNoneMatch?: "*" | undefined;
}

/** Named tasks: code that the service keeps. `caisson.run(container, { task: name })` runs one. */
export class Tasks {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Lists the tasks of a container by name, without their code. All methods need the verb `tasks`. */
  list(
    container: string,
    query: Routes["GET /api/tasks/{container}"]["query"] = {},
    options: RequestOptions = {},
  ): List<TaskPage["tasks"][number], TaskPage> {
    const read = (cursor: string | undefined): Promise<TaskPage> =>
      this.#transport.json("GET /api/tasks/{container}", { path: { container }, query: { ...query, cursor } }, options);
    return new List(read, ({ tasks }) => tasks, query.cursor);
  }

  /** Returns a task with its code, and the names of its secrets. */
  get(container: string, task: string, options: RequestOptions = {}): Promise<Task> {
    return this.#transport.json("GET /api/tasks/{container}/{task}", { path: { container, task } }, options);
  }

  /**
   * Creates or changes a task. A member that is left out stays as it was. While the service builds the packages of the task, the
   * request is sent again.
   */
  async put(container: string, task: string, definition: TaskRequest, options: ChangeOptions = {}): Promise<Task> {
    const json = mustBeDefinition(definition, "put");
    const parameters = { path: { container, task }, json, headers: preconditions(options) };
    for (let isAgain = false; ; isAgain = true) {
      try {
        const answer = await this.#transport.json("PUT /api/tasks/{container}/{task}", parameters, options);
        if (!("build" in answer)) return answer as Task;
      } catch (error) {
        // The build has ended, and the first request has published the task.
        const isDone = isAgain && error instanceof CaissonError && error.code === "precondition_failed";
        if (!isDone) throw error;
        return await this.get(container, task, options);
      }
      await wait(POLL_MS, options.signal);
    }
  }

  /** Runs a task once without publishing it, and returns the record of the run. */
  async dryRun(
    container: string,
    task: string,
    definition: TaskRequest,
    options: RequestOptions = {},
  ): Promise<AnsweredRunRecord> {
    const parameters = {
      path: { container, task },
      json: mustBeDefinition(definition, "dryRun"),
      query: { dryRun: true },
    };
    return ((await this.#transport.json("PUT /api/tasks/{container}/{task}", parameters, options)) as DryRun).record;
  }

  /** Deletes a task with its token, its versions and its secrets. */
  delete(container: string, task: string, options: ChangeOptions = {}): Promise<DeletedTask> {
    const parameters = { path: { container, task }, headers: preconditions(options) };
    return this.#transport.json("DELETE /api/tasks/{container}/{task}", parameters, options);
  }

  /** Returns the last ten versions, the newest first. */
  async versions(container: string, task: string, options: RequestOptions = {}): Promise<TaskVersion[]> {
    const route = "GET /api/tasks/{container}/{task}/versions";
    return (await this.#transport.json(route, { path: { container, task } }, options)).versions;
  }

  /** Returns one of these versions with its code. */
  version(container: string, task: string, version: number, options: RequestOptions = {}): Promise<StoredTask> {
    const path = { container, task, version: String(version) };
    return this.#transport.json("GET /api/tasks/{container}/{task}/versions/{version}", { path }, options);
  }

  /** Creates a new version with the content of an earlier one. */
  rollback(container: string, task: string, version: number, options: ChangeOptions = {}): Promise<Task> {
    const parameters = { path: { container, task }, json: { version }, headers: preconditions(options) };
    return this.#transport.json("POST /api/tasks/{container}/{task}/rollback", parameters, options);
  }
}

/** @throws {TypeError} if the definition is missing, as without the container, or no object */
function mustBeDefinition(definition: TaskRequest, method: string): TaskRequest {
  if (typeof definition === "object" && definition !== null) return definition;
  throw new TypeError(
    `the third argument must be an object such as ${TASK}, not ${typeof definition}: tasks.${method}("acme", "hello", ${TASK})`,
  );
}

/** The `etag` of a task has no quotes, but a header of HTTP does. */
function preconditions(options: ChangeOptions): Record<string, string | undefined> {
  // A misspelled condition would not be checked.
  mustBeOptions(options, "ifMatch ifNoneMatch signal retry", "{ ifMatch: task.etag }");
  const { ifMatch, ifNoneMatch } = options;
  return { "if-match": ifMatch === undefined ? undefined : `"${ifMatch}"`, "if-none-match": ifNoneMatch };
}

nameOthers(Tasks.prototype, {
  "create update save set deploy publish": 'write put("acme", "hook", { code })',
  "run invoke call execute": 'write caisson.run("acme", { task: "hook" })',
  remove: 'write delete("acme", "hook")',
});
