import type { DatabaseDefinition } from "../../database.ts";
import { FORGET_CLOCK_SCHEMA, FORGET_CLOCK_STATEMENTS } from "../forget-clock.ts";
import { MAX_DEPTH } from "../token-format.ts";

/** The topmost token above a token; null for a token of an administrator. */
const FAMILY = "json_extract(payload, '$.parents[#-1]')";
/** 1 for a token that a caller received, 0 for the token of a named task. */
const KIND = "json_extract(payload, '$.task') IS NULL";
/** The key that a token was signed with. For the token of a named task, the key of the token above it. */
const KEY = "substr(kids, 1, instr(kids || ' ', ' ') - 1)";

/** The positions of `parents`: an index of each finds the tokens below a token, however many tokens there are. */
const GENERATIONS = Array.from({ length: MAX_DEPTH }, (_, at) => at);

function parentAt(at: number): string {
  return `json_extract(payload, '$.parents[${at}]')`;
}

const PARENT_INDEXES = GENERATIONS.map(
  (at) =>
    `CREATE INDEX IF NOT EXISTS issued_parent_${at} ON issued (${parentAt(at)}, jti) WHERE ${parentAt(at)} IS NOT NULL;`,
).join("\n");

/**
 * The first names below a token by each position. A token has an ancestor at one position only. SQLite would otherwise walk
 * through all names after the cursor, because it expects to find enough of them soon.
 */
const BELOW = GENERATIONS.map(
  (at) =>
    `SELECT jti FROM (SELECT jti FROM issued INDEXED BY issued_parent_${at}
      WHERE ${parentAt(at)} = ?1 AND jti > ?2 ORDER BY jti LIMIT ?3)`,
).join(" UNION ALL ");

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS issued (
    jti TEXT PRIMARY KEY, payload TEXT NOT NULL, issued_by TEXT NOT NULL, issued_at INTEGER NOT NULL, forget_at INTEGER,
    kids TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS revoked (
    jti TEXT PRIMARY KEY, revoked_by TEXT NOT NULL, revoked_at INTEGER NOT NULL, forget_at INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS used (
    jti TEXT PRIMARY KEY, runs INTEGER NOT NULL, last_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS issued_forget_at ON issued (forget_at) WHERE forget_at IS NOT NULL;
  CREATE INDEX IF NOT EXISTS issued_family ON issued (${FAMILY}, ${KIND}, forget_at);
  CREATE INDEX IF NOT EXISTS issued_key ON issued (${KEY}, forget_at);
  ${PARENT_INDEXES}
  CREATE INDEX IF NOT EXISTS revoked_forget_at ON revoked (forget_at) WHERE forget_at IS NOT NULL;
`;

/** The maximum number of ended records that one write deletes. */
const DELETED_AT_ONCE = 32;

/** The SQL statements of the token store. Each uses an index, because the service has one thread. */
const STATEMENTS = {
  revoked: "SELECT jti FROM revoked",
  issue:
    "INSERT OR REPLACE INTO issued (jti, payload, issued_by, issued_at, forget_at, kids) VALUES (?, ?, ?, ?, ?, ?)",
  issued: "SELECT payload, issued_by, issued_at, kids FROM issued WHERE jti = ?",
  revoke: `INSERT INTO revoked (jti, revoked_by, revoked_at, forget_at)
    VALUES (?1, ?2, ?3, CASE WHEN EXISTS (SELECT 1 FROM issued WHERE jti = ?1)
      THEN (SELECT forget_at FROM issued WHERE jti = ?1) ELSE ?4 END) ON CONFLICT DO NOTHING`,
  retireIssued: "UPDATE issued SET forget_at = min(coalesce(forget_at, ?2), ?2) WHERE jti = ?1",
  retireRevoked: "UPDATE revoked SET forget_at = min(coalesce(forget_at, ?2), ?2) WHERE jti = ?1",
  list: "SELECT payload, issued_by, issued_at, kids FROM issued WHERE jti > ? ORDER BY jti LIMIT ?",
  listBelow: `SELECT payload, issued_by, issued_at, kids FROM issued WHERE jti IN (${BELOW}) ORDER BY jti LIMIT ?3`,
  revocation: "SELECT revoked_by, revoked_at FROM revoked WHERE jti = ?",
  usesKey: `SELECT 1 FROM issued WHERE ${KEY} = ? AND (forget_at IS NULL OR forget_at > ?)
    AND NOT EXISTS (SELECT 1 FROM revoked
      WHERE jti IN (SELECT issued.jti UNION ALL SELECT value FROM json_each(issued.payload, '$.parents'))) LIMIT 1`,
  // Only tokens on record: the use of others would never be deleted.
  addUse: `INSERT INTO used (jti, runs, last_ms) SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM issued WHERE jti = ?1)
    ON CONFLICT DO UPDATE SET runs = runs + excluded.runs, last_ms = max(last_ms, excluded.last_ms)`,
  use: "SELECT runs, last_ms FROM used WHERE jti = ?",
  forgetUsed: "DELETE FROM used WHERE jti NOT IN (SELECT jti FROM issued)",
  // More records than one write adds, and so few that no caller waits for the deletion.
  forgetIssued: `DELETE FROM issued WHERE jti IN (SELECT jti FROM issued WHERE forget_at < ? LIMIT ${DELETED_AT_ONCE})`,
  forgetRevoked: `DELETE FROM revoked
    WHERE jti IN (SELECT jti FROM revoked WHERE forget_at < ? LIMIT ${DELETED_AT_ONCE}) RETURNING jti`,
  unexpired: `SELECT count(*) AS count FROM issued WHERE ${FAMILY} = ? AND (${KIND}) = ? AND forget_at > ?`,
  family: `SELECT count(*) AS count FROM issued WHERE ${FAMILY} = ? AND (${KIND}) = ?`,
  ended: `SELECT jti FROM issued WHERE ${FAMILY} = ? AND (${KIND}) = ? AND forget_at < ? ORDER BY forget_at LIMIT ?`,
  removeIssued: "DELETE FROM issued WHERE jti = ?",
  removeRevoked: "DELETE FROM revoked WHERE jti = ?",
  removeUsed: "DELETE FROM used WHERE jti = ?",
};

export type Statement = keyof typeof STATEMENTS | keyof typeof FORGET_CLOCK_STATEMENTS;

/** The version of the format. */
export const TOKENS_VERSION = 1;

/** The database of issued and revoked tokens. */
export const TOKEN_DATABASE: DatabaseDefinition<Statement> = {
  version: TOKENS_VERSION,
  content: "the token store",
  remedy:
    "restore it from a backup. Without it revoked tokens are valid again, unless the signing keys are deleted too",
  schema: FORGET_CLOCK_SCHEMA + SCHEMA,
  statements: { ...FORGET_CLOCK_STATEMENTS, ...STATEMENTS },
};
