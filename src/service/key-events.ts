import path from "node:path";

import type { Audit, AuditAction } from "../records/audit/audit.ts";
import type { Log } from "../telemetry/log.ts";
import { ensureAdminToken } from "../tokens/admin-token.ts";
import type { KeyEvents } from "../tokens/keys/watch-keys.ts";
import type { Tokens } from "../tokens/token-service.ts";

/** Returns what the service does when its signing keys change. @param tokens returns the tokens, which are opened with the result */
export function keyEvents(log: Log, audit: Audit, tokens: () => Tokens, adminTokenFile: string): KeyEvents {
  return {
    changed: () => {
      const { signing, held } = tokens().keys;
      const details = { signing: signing.kid, kids: [...held.values().map(({ kid }) => kid)] };
      log.audit("the signing keys have changed", details);
      void audit.add({
        action: "signing keys changed" satisfies AuditAction,
        by: null,
        family: null,
        client: null,
        details,
      });
    },
    settle: async () => {
      // If its key was revoked, the administrative token is invalid, and the commands on this machine need a valid one.
      await ensureAdminToken(adminTokenFile, tokens());
    },
    unsettled: (error) =>
      log.pino.error(
        `${path.basename(adminTokenFile)} could not be renewed after its key was removed: ${error.message}`,
      ),
    failed: (error) =>
      log.pino.error(`the keys in force stay, because their changed file cannot be used: ${error.message}`),
  };
}
