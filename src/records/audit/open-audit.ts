import path from "node:path";

import { Problem } from "../../errors.ts";
import { RequestThread, ThreadError } from "../request-thread.ts";
import type { AuditReply, AuditRequest } from "./audit-thread.ts";
import type { Audit, AuditEvent, AuditLosses, AuditPage, AuditQuery } from "./audit.ts";

const PROGRAM = path.join(import.meta.dirname, `audit-thread${path.extname(import.meta.filename)}`);
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

/** Opens the audit in `audit.sqlite` of a folder. Its thread opens the file at the first entry or read. */
export function openAudit(folder: string, options: AuditOptions = {}): StoredAudit {
  return new StoredAudit(path.join(folder, "audit.sqlite"), options);
}

/** Writes entries in another thread. A full or damaged disk costs entries, which are counted, and fails no change. */
export class StoredAudit implements Audit {
  readonly #thread: RequestThread<AuditRequest, AuditReply>;
  readonly #onFailure: (error: Error) => void;
  readonly #now: () => number;
  #lost = 0;
  #failure: string | null = null;
  #setAside: string[] = [];

  constructor(file: string, { onFailure = () => {}, now = Date.now }: AuditOptions) {
    this.#thread = new RequestThread(PROGRAM, { file });
    this.#onFailure = onFailure;
    this.#now = now;
  }

  /** Resolves when the program of the thread is loaded. Await it before root is given up. */
  get ready(): Promise<void> {
    return this.#thread.ready;
  }

  get losses(): AuditLosses {
    return { lost: this.#lost, failure: this.#failure, setAside: this.#setAside };
  }

  async add({ action, by, family, client, details }: AuditEvent): Promise<void> {
    if (this.#thread.pending >= MAX_WAITING) {
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
    await this.#thread.close();
  }

  async #write(request: AuditRequest): Promise<void> {
    try {
      await this.#ask(request);
      this.#failure = null;
    } catch (error) {
      this.#lost++;
      if (this.#failure === null) this.#onFailure(error as Error);
      this.#failure = `the audit cannot be written: ${error instanceof ThreadError ? error.code : "ERROR"}`;
    }
  }

  async #ask(request: AuditRequest): Promise<AuditReply> {
    const reply = await this.#thread.request(request);
    if (reply.setAside !== null) {
      this.#setAside = [...this.#setAside, reply.setAside];
      const earlier = `${reply.setAside} has the earlier entries, and a new file has begun`;
      this.#onFailure(new Error(`the audit was damaged; ${earlier}`));
    }
    return reply;
  }
}

function patience(): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, PATIENCE_MS).unref());
}
