import type { RecordConfig } from "../../config/groups/records.ts";
import { Problem } from "../../errors.ts";
import type { RecordThreads } from "../record-threads.ts";
import { type Channel, ThreadError } from "../request-thread.ts";
import { WaitingBytes } from "../waiting-bytes.ts";
import type { AuditReply, AuditRequest } from "./audit-writer.ts";
import type { Audit, AuditEvent, AuditLosses, AuditPage, AuditQuery } from "./audit.ts";

/** The approximate memory of an entry that waits, in addition to its details. */
const ENTRY_BYTES = 512;
/** How long the answer to a change waits for its entry: longer than a busy disk takes, shorter than a client waits. */
const PATIENCE_MS = 2_000;
/** The characters of the details of an entry as JSON. Details are names and limits, and far shorter. */
const MAX_DETAILS_CHARS = 8_192;

export interface AuditOptions extends Pick<RecordConfig, "auditEntries" | "diskQueue"> {
  /** Called when the writer fails for the first time after it worked. The message may contain a path, for the log only. */
  readonly onFailure?: (error: Error) => void;
  readonly now?: () => number;
  /** Returns the time that decides which entries are old; by default the time of the new entry. */
  readonly keptNow?: (nowMs: number) => number;
}

/** Writes entries in another thread. A full or damaged disk costs entries, which are counted, and fails no change. */
export class StoredAudit implements Audit {
  readonly #writer: Channel<AuditRequest, AuditReply>;
  readonly #onFailure: (error: Error) => void;
  readonly #now: () => number;
  readonly #keptNow: (nowMs: number) => number;
  readonly #entries: number;
  /** The entries that wait for the disk. The rate of changes bounds them too, but a disk can stop. */
  readonly #waiting: WaitingBytes;
  /** Whether the thread may have the file open. */
  #mayHaveOpened = false;
  #lost = 0;
  #failure: string | null = null;
  #setAside: string[] = [];

  /** @param threads must be closed after this. */
  constructor(
    threads: RecordThreads,
    { auditEntries, diskQueue, onFailure = () => {}, now = Date.now, keptNow = (nowMs) => nowMs }: AuditOptions,
  ) {
    this.#entries = auditEntries;
    this.#waiting = new WaitingBytes(diskQueue);
    // First, because the answer to a change waits for its entry.
    this.#writer = threads.writer("audit", true);
    this.#onFailure = onFailure;
    this.#now = now;
    this.#keptNow = keptNow;
  }

  get losses(): AuditLosses {
    return { lost: this.#lost, failure: this.#failure, setAside: this.#setAside };
  }

  async add({ action, by, family, client, details }: AuditEvent): Promise<void> {
    const text = JSON.stringify(details);
    const bounded = text.length <= MAX_DETAILS_CHARS ? text : JSON.stringify({ omitted: `${text.length} characters` });
    const bytes = bounded.length + ENTRY_BYTES;
    const holder = family ?? "";
    if (!this.#waiting.fits(holder, bytes)) {
      this.#lost++;
      return;
    }
    const atMs = this.#now();
    const row = { atMs, action, by, family: holder, client, details: bounded };
    this.#waiting.add(holder, bytes);
    const writing = this.#write({ kind: "add", row, keptNowMs: this.#keptNow(atMs), entries: this.#entries });
    await Promise.race([writing.finally(() => this.#waiting.release(holder, bytes)), patience()]);
  }

  async list(query: AuditQuery): Promise<AuditPage> {
    try {
      return (await this.#ask({ kind: "list", query, entries: this.#entries })).page!;
    } catch (error) {
      throw new Problem("store_unavailable", "the entries of the audit cannot be read", { cause: error });
    }
  }

  async close(): Promise<void> {
    // Otherwise a thread would be started only to close nothing.
    if (this.#mayHaveOpened) await this.#ask({ kind: "close" }).catch(() => {});
  }

  async #write(request: AuditRequest): Promise<void> {
    try {
      await this.#ask(request);
      this.#failure = null;
    } catch (error) {
      this.#lost++;
      if (this.#failure === null) {
        this.#onFailure(new Error(`the audit cannot be written: ${(error as Error).message}`, { cause: error }));
      }
      this.#failure = `the audit cannot be written: ${error instanceof ThreadError ? error.code : "ERROR"}`;
    }
  }

  async #ask(request: AuditRequest): Promise<AuditReply> {
    this.#mayHaveOpened = true;
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
