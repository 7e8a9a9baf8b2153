import path from "node:path";

import type { BackupSource } from "../backup/backup-source.ts";
import { BackupServer } from "../backup/serve-backups.ts";
import type { Config } from "../config.ts";
import { VERSION } from "../http/headers.ts";
import type { LimitStore } from "../limits/store.ts";
import { EmbeddedLimitStore } from "../limits/stores/embedded.ts";
import type { Log } from "../telemetry/log.ts";

export interface BackupParts extends Pick<BackupSource, "folder" | "history" | "databases" | "keys"> {
  readonly store: LimitStore;
  readonly log: Log;
}

const SECRETS_KEY = "secrets.key";

/** Lets the service's user and root copy the data folder through a socket in it. */
export function openBackups(
  config: Config,
  { store, log, ...parts }: BackupParts,
  closers: AsyncDisposableStack,
): void {
  const source: BackupSource = {
    ...parts,
    release: VERSION,
    secretsKey: config.secretsKey ?? path.join(parts.folder, SECRETS_KEY),
    counts: () => (store instanceof EmbeddedLimitStore ? store.openFiles() : []),
  };
  const onFailure = (error: Error): void =>
    log.pino.warn(`"caisson backup" cannot reach this service: ${error.message}`);
  closers.adopt(new BackupServer(source, onFailure), (open) => open.close());
}
