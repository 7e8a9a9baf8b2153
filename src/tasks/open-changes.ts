import { Problem } from "../errors.ts";
import type { TaskRef } from "./definition.ts";

/** What the caller of a change and the change tell each other while it lasts. */
export interface Progress {
  /** Whether its packages are built now. */
  isBuilding: boolean;
  /** Whether the client has the answer that the task will be published after the build. Later changes then win. */
  isAnswered: boolean;
}

/** What was stored last for a task that has open changes. */
interface Stored {
  /** The number of the change that stored it. */
  readonly number: number;
  /** Null after a deletion. */
  readonly etag: string | null;
}

interface OpenTask {
  readonly changes: Set<OpenChange>;
  stored: Stored | null;
}

/**
 * The changes of tasks that have begun and have not ended, numbered in the order of their requests. A build takes up to minutes, and the
 * client may have its answer before: without this order the end of the build would undo the changes that came later.
 */
export class OpenChanges {
  readonly #tasks = new Map<string, OpenTask>();
  #number = 0;

  /** Begins a change. The caller ends it. */
  begin(at: TaskRef, progress: Progress): OpenChange {
    const name = nameOf(at);
    const task = this.#tasks.get(name) ?? { changes: new Set(), stored: null };
    this.#tasks.set(name, task);
    const change: OpenChange = new OpenChange(++this.#number, task, progress, () => {
      task.changes.delete(change);
      if (task.changes.size === 0) this.#tasks.delete(name);
    });
    task.changes.add(change);
    return change;
  }

  /** Notes that a task was deleted. */
  deleted(at: TaskRef): void {
    const task = this.#tasks.get(nameOf(at));
    if (task) task.stored = { number: ++this.#number, etag: null };
  }

  /** Whether a task is published when its packages are built. */
  isBuilding(at: TaskRef): boolean {
    const task = this.#tasks.get(nameOf(at));
    return task !== undefined && [...task.changes].some(({ progress }) => progress.isBuilding);
  }
}

/** A change of a task that has begun. */
export class OpenChange {
  readonly progress: Progress;
  readonly #number: number;
  readonly #task: OpenTask;
  readonly #end: () => void;
  #attempts = 0;

  constructor(number: number, task: OpenTask, progress: Progress, end: () => void) {
    this.#number = number;
    this.#task = task;
    this.progress = progress;
    this.#end = end;
  }

  /**
   * Begins an attempt to replace the version that has this etag.
   *
   * @param etag null if there is no version
   * @throws {Problem} `precondition_failed` if the client has its answer and a later change was stored or the task was deleted. A change that
   * another node has stored counts as later.
   */
  attempt(etag: string | null): void {
    const { stored } = this.#task;
    const isLater = stored !== null && stored.number > this.#number;
    const isOfOther = this.#attempts++ > 0 && stored?.etag !== etag;
    if (!this.progress.isAnswered || !(isLater || isOfOther)) return;
    throw new Problem("precondition_failed", "the task was changed or deleted while its packages were built", {
      hint: "Send the change again if it is still wanted.",
    });
  }

  /** Notes that the change is stored. */
  stored(etag: string): void {
    this.#task.stored = { number: this.#number, etag };
  }

  end(): void {
    this.#end();
  }
}

function nameOf({ container, name }: TaskRef): string {
  return `${container}/${name}`;
}
