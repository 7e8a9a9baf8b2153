import type { DatabaseDefinition } from "../database.ts";

/** An artefact that was stored before lists had a table of their own is shown without versions. */
const SHOWN = `coalesce(versions, '{}') AS versions, coalesce(count, 0) AS count FROM artefacts LEFT JOIN shown USING (key)`;
const OF_FAMILY = "(family = ? OR key IN (SELECT key FROM locks WHERE family = ?))";

const STATEMENTS = {
  lock: "SELECT lock, used FROM locks WHERE family = ? AND request = ?",
  putLock: "INSERT OR REPLACE INTO locks (family, request, key, lock, used) VALUES (?, ?, ?, ?, ?)",
  useLock: "UPDATE locks SET used = ? WHERE family = ? AND request = ?",
  lockWithKey: "SELECT lock FROM locks WHERE family = ? AND key = ? ORDER BY used DESC LIMIT 1",
  dropUnused: "DELETE FROM locks WHERE used < ?",
  dropOldest: `DELETE FROM locks WHERE family = ? AND request NOT IN (SELECT request FROM
    (SELECT request, row_number() OVER latest AS place, sum(length(lock)) OVER latest AS chars FROM locks WHERE family = ?
      WINDOW latest AS (ORDER BY used DESC, request)) WHERE place <= ? AND (place = 1 OR chars <= ?))`,
  artefact: "SELECT * FROM artefacts WHERE key = ?",
  listAll: `SELECT key, bytes, built, used, ${SHOWN} ORDER BY used DESC, key LIMIT ?`,
  listOf: `SELECT key, bytes, built, used, ${SHOWN} WHERE ${OF_FAMILY} ORDER BY used DESC, key LIMIT ?`,
  bytesOfAll: "SELECT coalesce(sum(bytes), 0) AS bytes FROM artefacts",
  bytesOf: `SELECT coalesce(sum(bytes), 0) AS bytes FROM artefacts WHERE ${OF_FAMILY}`,
  leastUsed: "SELECT key, family, bytes, used FROM artefacts ORDER BY family IS NOT ?, used, key",
  putShown: "INSERT OR REPLACE INTO shown (key, versions, count) VALUES (?, ?, ?)",
  removeShown: "DELETE FROM shown WHERE key = ?",
  putArtefact:
    "INSERT OR REPLACE INTO artefacts (key, family, bytes, sha256, lock, built, used) VALUES (?, ?, ?, ?, ?, ?, ?)",
  useArtefact: "UPDATE artefacts SET used = ? WHERE key = ?",
  removeArtefact: "DELETE FROM artefacts WHERE key = ?",
  sizes: `SELECT coalesce(sum(bytes), 0) AS "all", coalesce(sum(CASE WHEN family = ? THEN bytes END), 0) AS own,
    count(*) AS count, count(CASE WHEN family = ? THEN 1 END) AS ownCount FROM artefacts`,
  pin: "INSERT OR REPLACE INTO pins (container, name, key) VALUES (?, ?, ?)",
  unpin: "DELETE FROM pins WHERE container = ? AND name = ?",
  pins: "SELECT container, name FROM pins WHERE key = ?",
  permits: 'SELECT entry, "by", at FROM permits ORDER BY entry',
  addPermit: 'INSERT OR IGNORE INTO permits (entry, "by", at) VALUES (?, ?, ?)',
  removePermit: "DELETE FROM permits WHERE entry = ?",
};

export type Statement = keyof typeof STATEMENTS;

/** The version of the format. */
export const PACKAGES_VERSION = 1;

export const PACKAGE_DATABASE: DatabaseDefinition<Statement> = {
  version: PACKAGES_VERSION,
  content: "the locks of packages",
  remedy: "restore it from a backup, or remove it: then inline code resolves its packages again",
  schema: `
  CREATE TABLE IF NOT EXISTS locks (
    family TEXT NOT NULL, request TEXT NOT NULL, key TEXT NOT NULL, lock TEXT NOT NULL, used INTEGER NOT NULL, PRIMARY KEY (family, request)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS artefacts (
    key TEXT PRIMARY KEY, family TEXT, bytes INTEGER NOT NULL, sha256 TEXT NOT NULL, lock TEXT NOT NULL,
    built INTEGER NOT NULL, used INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS artefacts_used ON artefacts (used, key);
  CREATE TABLE IF NOT EXISTS shown (key TEXT PRIMARY KEY, versions TEXT NOT NULL, count INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS pins (
    container TEXT NOT NULL, name TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (container, name)
  ) STRICT;
  CREATE INDEX IF NOT EXISTS pins_key ON pins (key);
  CREATE TABLE IF NOT EXISTS permits (entry TEXT PRIMARY KEY, "by" TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
`,
  statements: STATEMENTS,
};
