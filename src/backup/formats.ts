import { COUNTS_VERSION } from "../limits/stores/embedded/count-records.ts";
import { PACKAGES_VERSION } from "../packages/package-statements.ts";
import { POLICIES_VERSION } from "../policies/stores/sqlite.ts";
import { AUDIT_VERSION } from "../records/audit/audit-file.ts";
import { SCHEMA_VERSION } from "../records/days/day-file.ts";
import { USAGE_VERSION } from "../records/usage/usage-file.ts";
import { TASKS_VERSION } from "../tasks/stores/sqlite.ts";
import { KEYS_VERSION } from "../tokens/keys/key-file.ts";
import { SECRETS_KEY_VERSION } from "../tokens/secrets/key.ts";
import { SECRETS_VERSION } from "../tokens/secrets/stores/sqlite.ts";
import { TOKENS_VERSION } from "../tokens/stores/sqlite-statements.ts";

/** The version of the backup itself: its names, its order, its first and its last part. */
const BACKUP_VERSION = 1;

/** The versions of the formats that this release writes. A start changes the files of earlier versions to these. */
const VERSIONS: Readonly<Record<string, number>> = {
  backup: BACKUP_VERSION,
  limits: COUNTS_VERSION,
  "keys.json": KEYS_VERSION,
  "secrets.key": SECRETS_KEY_VERSION,
  "tokens.sqlite": TOKENS_VERSION,
  "secrets.sqlite": SECRETS_VERSION,
  "policies.sqlite": POLICIES_VERSION,
  "tasks.sqlite": TASKS_VERSION,
  "packages.sqlite": PACKAGES_VERSION,
  "audit.sqlite": AUDIT_VERSION,
  "runs/usage.sqlite": USAGE_VERSION,
  "runs/": SCHEMA_VERSION,
};

/** The content of the first part of a backup. */
export interface About {
  /** The release of the service. */
  readonly caisson: string;
  /** When the backup began. */
  readonly madeAt: string;
  readonly versions: Readonly<Record<string, number>>;
}

export function writeAbout(release: string, nowMs: number): string {
  const about: About = { caisson: release, madeAt: new Date(nowMs).toISOString(), versions: VERSIONS };
  return `${JSON.stringify(about, null, 2)}\n`;
}

/** @throws {Error} if it is damaged, or a newer release made the backup in a format that this release does not read. */
export function readAbout(text: string): About {
  const about = parse(text);
  for (const [format, version] of Object.entries(about.versions)) {
    const known = Object.hasOwn(VERSIONS, format) ? VERSIONS[format]! : 0;
    if (version <= known) continue;
    throw new Error(
      `caisson ${about.caisson} made it with version ${version} of the format of ${format}, and this release reads ` +
        `versions up to ${known}: restore it with the release that made it`,
    );
  }
  return about;
}

function parse(text: string): About {
  try {
    const { caisson, madeAt, versions } = JSON.parse(text) as Record<string, unknown>;
    const isSound =
      typeof caisson === "string" &&
      /^[\w.+-]{1,40}$/.test(caisson) &&
      typeof madeAt === "string" &&
      /^[\dTZ:.-]{1,40}$/.test(madeAt) &&
      typeof versions === "object" &&
      versions !== null &&
      Object.entries(versions).every(
        ([name, version]) => /^[\w./-]{1,40}$/.test(name) && Number.isSafeInteger(version),
      );
    if (isSound) return { caisson, madeAt, versions: { ...versions } };
  } catch {
    // The message must not contain a part of the file.
  }
  throw new Error("its first entry does not describe a backup of caisson");
}
