import type { ContainerPatterns, RunQuery } from "../query.ts";
import type { RunEntry, RunStatus } from "../record.ts";
import { parseDetail } from "./stored-row.ts";

/** The columns of a stored run that a filter reads first, because they are short. */
export interface RunHead {
  readonly id: number;
  readonly startedMs: number;
  readonly run: string;
  readonly container: string;
  readonly task: string | null;
  readonly status: RunStatus;
}

/** Decides which stored runs a query finds. */
export class RunFilter {
  /** The patterns of the containers that the query concerns. */
  readonly patterns: ContainerPatterns;
  readonly #task: string | null;
  readonly #statuses: ReadonlySet<RunStatus> | null;
  /** The text to find, in lower case; null if every text matches. */
  readonly #text: string | null;

  constructor({ permitted, container, task, statuses, text }: RunQuery) {
    if (container === null) this.patterns = permitted;
    else this.patterns = matchesAny(permitted, container) ? [container] : [];
    this.#task = task;
    this.#statuses = statuses && new Set(statuses);
    this.#text = text === null || text === "" ? null : text.toLowerCase();
  }

  matchesContainer(container: string): boolean {
    return matchesAny(this.patterns, container);
  }

  matchesHead({ container, task, status }: RunHead): boolean {
    if (this.#task !== null && task !== this.#task) return false;
    return (this.#statuses?.has(status) ?? true) && this.matchesContainer(container);
  }

  /** Searches the error, the name of the task and the console lines. The text is plain: no character has a meaning. */
  matchesText({ task, error }: RunEntry, detail: string | null): boolean {
    if (this.#text === null) return true;
    const texts = [task, error?.name, error?.message, error?.code];
    return texts.some((text) => this.#isIn(text)) || parseDetail(detail).console.some(({ text }) => this.#isIn(text));
  }

  #isIn(text: string | null | undefined): boolean {
    return typeof text === "string" && text.toLowerCase().includes(this.#text!);
  }
}

function matchesAny(patterns: ContainerPatterns, container: string): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith("*") ? container.startsWith(pattern.slice(0, -1)) : container === pattern,
  );
}
