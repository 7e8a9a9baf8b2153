import { ByteCache } from "../byte-cache.ts";
import { Problem } from "../errors.ts";
import { nextTurn } from "../next-turn.ts";
import type { TaskStore } from "./store.ts";
import { bytesOfCode, type TaskCode, unpacked } from "./task-code.ts";
import { pinOf, type Task, taskOf } from "./task.ts";

/** The bytes of code of recently run tasks in memory, so that it is not read from the store at each run. */
const CODE_BYTES = 32 * 2 ** 20;
/** The bytes of read tasks in memory. A caller may have many tasks, each with params of tens of kilobytes. */
const READ_BYTES = 32 * 2 ** 20;
/** The estimated memory for each character of a task's record: the text, and about the same again for the parsed record. */
const BYTES_PER_CHAR = 4;
/** The length from which a record gets its own turn of the event loop: strangers may request many big public tasks at once. */
const BIG_RECORD_CHARS = 8_192;
/** The name under which records wait for their turn, because their family is known only after reading. */
const RECORDS = "records";

/** Reads tasks and their code from the store, and keeps what was read lately in memory. */
export class TaskReader {
  readonly #store: TaskStore;
  readonly #tokens: Parameters<typeof taskOf>[1];
  /** The code by digest, so that the same code is in memory once. */
  readonly #codes = new ByteCache<TaskCode>(CODE_BYTES);
  /** The tasks by record: as long as a task is the same, so is its caller, which caches what it derives from the token. */
  readonly #read = new ByteCache<Task>(READ_BYTES);

  /** @param tokens the store of the tokens that tasks run under */
  constructor(store: TaskStore, tokens: Parameters<typeof taskOf>[1]) {
    this.#store = store;
    this.#tokens = tokens;
  }

  /** Returns the current task, or null: at once if the store is local and the record small. @throws {Problem} `store_unavailable` */
  find(container: string, name: string): Task | null | Promise<Task | null> {
    const found = this.#store.newest(container, name);
    return found instanceof Promise
      ? found.then((record) => this.#readRecord(record, container))
      : this.#readRecord(found, container);
  }

  /** Returns the code of a task. `Tasks.codeOf` describes it. */
  async codeOf(task: Task, holder: string): Promise<TaskCode> {
    // A text may have the digest of packed code, which means something else.
    const digest = `${pinOf(task).sha256!}${task.packed ? " packed" : ""}`;
    const cached = this.#codes.get(digest);
    if (cached) return cached;
    await nextTurn(holder);
    const stored = await this.#store.version(task.container, task.name, task.version);
    if (typeof stored?.code !== "string")
      throw new Problem("not_found", "the task was changed or deleted in the meantime");
    const code = unpacked(stored.code, task.packed);
    // Twice, because a run keeps the bytes of the text too.
    return this.#codes.add(digest, code, 2 * bytesOfCode(code), task.caller.family);
  }

  /** Returns the task of a record, and does not keep it. */
  parsed(record: string): Task {
    return taskOf(record, this.#tokens);
  }

  /** Reads a record, at once unless that takes milliseconds: then in a turn of the event loop without another such record. */
  #readRecord(record: string | null, container: string): Task | null | Promise<Task | null> {
    if (record === null) return null;
    if (record.length <= BIG_RECORD_CHARS || this.#read.get(record)) return this.#taskOf(record);
    // The token family is not known yet, and callers of one container must not make those of all others wait.
    return nextTurn(`${RECORDS} ${container}`).then(() => this.#taskOf(record));
  }

  #taskOf(record: string): Task {
    const cached = this.#read.get(record);
    if (cached) return cached;
    const task = this.parsed(record);
    return this.#read.add(record, task, record.length * BYTES_PER_CHAR, task.caller.family);
  }
}
