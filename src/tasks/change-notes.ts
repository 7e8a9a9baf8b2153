import { randomUUID } from "node:crypto";

import { Problem } from "../errors.ts";
import type { Owner, Vault } from "../tokens/secrets/vault.ts";
import type { TaskRef } from "./definition.ts";
import type { TaskStore } from "./store.ts";
import type { Task } from "./task.ts";

/** The tokens and the owners of secrets that a change of a task replaces or adds. */
export interface ChangeNote extends TaskRef {
  readonly jtis: readonly string[];
  readonly owners: readonly Owner[];
}

/** What the end of a killed change uses of the tasks. */
interface EndParts {
  readonly find: (at: TaskRef) => Task | null | Promise<Task | null>;
  readonly vault: Pick<Vault, "set">;
  /** Ends a token that no task runs under. */
  readonly endToken: (jti: string) => Promise<void>;
}

/**
 * Notes of the changes that are being made. A change writes to several stores, so a service that is killed in the middle leaves a token
 * or encrypted secrets that no task names. The note names them, and the next start deletes them.
 */
export class ChangeNotes {
  readonly #store: TaskStore;
  readonly #nowMs: () => number;

  /** @param nowMs the clock, in Unix milliseconds */
  constructor(store: TaskStore, nowMs: () => number) {
    this.#store = store;
    this.#nowMs = nowMs;
  }

  /**
   * Makes a change under a note. If the change fails in the middle, the note stays.
   *
   * @throws {Problem} `store_unavailable` before the change, or the error of the change
   */
  async during<T>(note: ChangeNote, change: () => Promise<T>): Promise<T> {
    const id = randomUUID();
    await this.#store.keepNote(id, JSON.stringify(note), this.#nowMs());
    let isWhole = true;
    try {
      return await change();
    } catch (error) {
      // A refusal has changed nothing.
      isWhole = error instanceof Problem && error.code !== "store_unavailable";
      throw error;
    } finally {
      if (isWhole) await this.#delete(id);
    }
  }

  /** Deletes what killed services have left behind. A note stays if that fails. */
  async endKilled(parts: EndParts): Promise<void> {
    const notes = await this.#store.killedNotes(this.#nowMs());
    for (const [id, text] of notes) {
      await endChange(JSON.parse(text) as ChangeNote, parts);
      await this.#delete(id);
    }
  }

  /** The change is already made, and the next start can delete its note, too. */
  async #delete(id: string): Promise<void> {
    try {
      await this.#store.deleteNote(id);
    } catch {
      // The note deletes nothing that the task still uses.
    }
  }
}

async function endChange(
  { container, name, jtis, owners }: ChangeNote,
  { find, vault, endToken }: EndParts,
): Promise<void> {
  const task = await find({ container, name });
  for (const jti of jtis) if (jti !== task?.caller.claims.jti) await endToken(jti);
  for (const owner of owners) if (owner.jti !== task?.owner.jti) await vault.set(owner, {});
}
