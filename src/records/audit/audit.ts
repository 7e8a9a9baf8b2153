/** What an entry may be about. `GET /api/audit` refuses other actions, so that a misspelled one does not look like no entry. */
export const AUDIT_ACTIONS = [
  "token issued",
  "token revoked",
  "secrets replaced",
  "limits reset",
  "policy set",
  "policy changed",
  "policy removed",
  "container suspended",
  "container resumed",
  "container restarted",
  "task made",
  "task changed",
  "task rolled back",
  "task deleted",
  "run cancelled",
  "package allowed",
  "package disallowed",
  "packages removed",
  "signing keys changed",
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** A change by an administrator or by a token: what was changed, by which token, and from where. */
export interface AuditEvent {
  /** What happened, such as `token issued`. */
  readonly action: string;
  /** The `jti` of the token that made the change; null for the service itself. */
  readonly by: string | null;
  /**
   * The family of the token, which has a share of the entries; null for administrators and for the service itself.
   */
  readonly family: string | null;
  /** The address of the client; null for the service itself. */
  readonly client: string | null;
  /** What was changed. It has no secret and no token. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** An entry as the API shows it. */
export interface AuditEntry {
  /** RFC 3339, in UTC, with milliseconds. */
  readonly at: string;
  readonly action: string;
  readonly by: string | null;
  readonly client: string | null;
  readonly details: Readonly<Record<string, unknown>>;
}

/** A question about entries. Every member narrows it. */
export interface AuditQuery {
  /** Unix milliseconds: the earliest time. */
  readonly sinceMs: number | null;
  /** Unix milliseconds: entries before it. */
  readonly untilMs: number | null;
  readonly action: string | null;
  readonly by: string | null;
  /** The cursor after which the page begins, or null for the newest entry. */
  readonly after: AuditCursor | null;
  /** The most entries of the page. */
  readonly count: number;
}

export interface AuditCursor {
  readonly atMs: number;
  readonly id: number;
}

export interface AuditPage {
  /** The newest first. */
  readonly entries: readonly AuditEntry[];
  /** The number of each entry, which orders entries of the same time. */
  readonly ids: readonly number[];
  /** The cursor of the next page, or null at the end. A page may be empty and have a next page. */
  readonly next: string | null;
}

export interface AuditLosses {
  /** Entries that are only in the log. */
  readonly lost: number;
  /** The last error of the writer, or null while it works. It has no path. */
  readonly failure: string | null;
  /** The names of damaged files that were set aside since the start. */
  readonly setAside: readonly string[];
}

/** Keeps the entries of the audit for one year. */
export interface Audit {
  /** Resolves when the entry survives a loss of power, or when it is lost, which no caller has to handle. */
  add(event: AuditEvent): Promise<void>;
  /** @throws {Problem} `store_unavailable` if the entries cannot be read. */
  list(query: AuditQuery): Promise<AuditPage>;
  readonly losses: AuditLosses;
  close(): Promise<void>;
}

/** Parses a cursor. @returns null if it has another form. */
export function parseAuditCursor(text: string): AuditCursor | null {
  const match = /^(\d{1,15})\.(\d{1,15})$/.exec(text);
  return match && { atMs: Number(match[1]), id: Number(match[2]) };
}
