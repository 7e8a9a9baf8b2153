import { auditPages } from "../../nodes/answers/audit.ts";
import type { AuditPage, AuditQuery } from "../../records/audit/audit.ts";
import { requireAdmin } from "../permissions.ts";
import { answerOfAll, authenticateReading } from "./node-reads.ts";
import { AUDIT_PAGE } from "./queries.ts";
import { readQuery } from "./read-query.ts";
import { type Api, type ApiDependencies, type Call, jsonText, resource } from "./route.ts";
import { entriesText } from "./run-texts.ts";

/** Serves `GET /api/audit`, for administrators: which token changed what, and from where. */
export function serveAudit(api: Api, dependencies: ApiDependencies): void {
  const { audit } = dependencies;
  resource(
    api,
    "/api/audit",
    {
      GET: async (call) => {
        const reading = await authenticateReading(call, dependencies);
        const query = auditQuery(call);
        const { claims, family } = reading.by;
        requireAdmin(claims, "reading the audit");
        const read = (): Promise<AuditPage> => audit.list(query);
        return answerOfAll(call, dependencies, reading, auditPages(query), read, async ({ entries, next }, nodes) => {
          // Each node has limited its part. A page may not be cut between entries that no cursor can separate.
          const { text } = await entriesText(entries, (entry) => entry, family, Infinity);
          return jsonText(200, `{"entries":${text},${JSON.stringify({ next, nodes }).slice(1)}`);
        });
      },
    },
    { GET: AUDIT_PAGE },
  );
}

function auditQuery(call: Call): AuditQuery {
  const { cursor, limit, since, until, action, by } = readQuery(call.env.incoming.url!, AUDIT_PAGE);
  return {
    sinceMs: since ?? null,
    untilMs: until ?? null,
    action: action ?? null,
    by: by ?? null,
    after: cursor ?? null,
    count: limit,
  };
}
