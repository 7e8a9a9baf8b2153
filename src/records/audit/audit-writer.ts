import { setAside } from "../set-aside.ts";
import { isDamage } from "../sqlite-fault.ts";
import { auditBounds, AuditFile, type AuditRow } from "./audit-file.ts";
import type { AuditPage, AuditQuery } from "./audit.ts";

export type AuditRequest =
  /** `keptNowMs`: the time that decides which entries are old; `entries`: the most entries of administrators; a family has a tenth. */
  | { readonly kind: "add"; readonly row: AuditRow; readonly keptNowMs: number; readonly entries: number }
  | { readonly kind: "list"; readonly query: AuditQuery; readonly entries: number }
  | { readonly kind: "close" };

export interface AuditReply {
  /** The page that was requested, or null. */
  readonly page: AuditPage | null;
  /** The new name of a damaged file, or null. */
  readonly setAside: string | null;
}

/** The file of the audit, for its thread. After an error it opens the file again at the next request. */
export class AuditWriter {
  readonly #path: string;
  #file: AuditFile | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  /** @throws the error of SQLite or of the system; then nothing was changed. */
  fulfil(request: AuditRequest): AuditReply {
    try {
      return { page: this.#fulfil(request), setAside: null };
    } catch (error) {
      this.#closeQuietly();
      if (!isDamage(error) || request.kind === "close") throw error;
      const name = setAside(this.#path);
      return { page: this.#fulfil(request), setAside: name };
    }
  }

  #fulfil(request: AuditRequest): AuditPage | null {
    if (request.kind === "close") {
      this.#file?.close();
      this.#file = null;
      return null;
    }
    this.#file ??= AuditFile.open(this.#path, auditBounds(request.entries));
    if (request.kind === "list") return this.#file.list(request.query);
    this.#file.add(request.row, request.keptNowMs);
    return null;
  }

  #closeQuietly(): void {
    try {
      this.#file?.close();
    } catch {
      // The error of the request is reported.
    }
    this.#file = null;
  }
}
