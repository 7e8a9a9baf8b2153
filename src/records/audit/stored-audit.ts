import { Problem } from "../../errors.ts";
import type { RecordThreads } from "../record-threads.ts";
import { type Channel, ThreadError } from "../request-thread.ts";
import type { AuditReply, AuditRequest } from "./audit-writer.ts";
import type { Audit, AuditEvent, AuditLosses, AuditPage, AuditQuery } from "./audit.ts";

/** The entries that wait for the disk. The rate of changes bounds them too, but a disk can stop. */
const MAX_WAITING = 1_000;
/** How long the answer to a change waits for its entry: longer than a busy disk takes, shorter than a client waits. */
const PATIENCE_MS = 2_000;
/** The characters of the details of an entry as JSON. Details are names and limits, and far shorter. */
const MAX_DETAILS_CHARS = 8_192;

export interface AuditOptions {
  /** Called when the writer fails for the first time after it worked. The message may contain a path, for the log only. */
  readonly onFailure?: (error: Error) => void;
  readonly now?: () => number;
}

/** Writes entries in another thread. A full or damaged disk costs entries, which are counted, and fails no change. */
export class StoredAudit implements Audit {
  readonly #writer: Channel<AuditRequest, AuditReply>;
  readonly #onFailure: (error: Error) => void;
  readonly #now: () => number;
  #waiting = 0;
  #lost = 0;
  #failure: string | null = null;
  #setAside: string[] = [];

  /** @param threads must be closed after this. */
  constructor(threads: RecordThreads, { onFailure = () => {}, now = Date.now }: AuditOptions = {}) {
    // First, because the answer to a change waits for its entry.
    this.#writer = threads.writer("audit", true);
    this.#onFailure = onFailure;
    this.#now = now;
  }

  get losses(): AuditLosses {
    return { lost: this.#lost, failure: this.#failure, setAside: this.#setAside };
  }

  async add({ action, by, family, client, details }: AuditEvent): Promise<void> {
    if (this.#waiting >= MAX_WAITING) {
      this.#lost++;
      return;
    }
    const text = JSON.stringify(details);
    const bounded = text.length <= MAX_DETAILS_CHARS ? text : JSON.stringify({ omitted: `${text.length} characters` });
    const row = { atMs: this.#now(), action, by, family: family ?? "", client, details: bounded };
    await Promise.race([this.#write({ kind: "add", row }), patience()]);
  }

  async list(query: AuditQuery): Promise<AuditPage> {
    try {
      return (await this.#ask({ kind: "list", query })).page!;
    } catch (error) {
      throw new Problem("store_unavailable", "the entries of the audit cannot be read", { cause: error });
    }
  }

  async close(): Promise<void> {
    await this.#ask({ kind: "close" }).catch(() => {});
  }

  async #write(request: AuditRequest): Promise<void> {
    this.#waiting++;
    try {
      await this.#ask(request);
      this.#failure = null;
    } catch (error) {
      this.#lost++;
      if (this.#failure === null) this.#onFailure(error as Error);
      this.#failure = `the audit cannot be written: ${error instanceof ThreadError ? error.code : "ERROR"}`;
    } finally {
      this.#waiting--;
    }
  }

  async #ask(request: AuditRequest): Promise<AuditReply> {
    const reply = await this.#writer.request(request);
    if (reply.setAside !== null) {
      this.#setAside = [...new Set([...this.#setAside, reply.setAside])];
      const earlier = `${reply.setAside} has the earlier entries, and a new file has begun`;
      this.#onFailure(new Error(`the audit was damaged; ${earlier}`));
    }
    return reply;
  }
}

function patience(): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, PATIENCE_MS).unref());
}
