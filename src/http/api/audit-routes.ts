import { type MemberFault, refuseFaults } from "../../members.ts";
import { auditPages } from "../../nodes/answers/audit.ts";
import { type AuditPage, type AuditQuery, parseAuditCursor } from "../../records/audit/audit.ts";
import { isJti } from "../../tokens/claims.ts";
import { answerOfAll, authenticateReading } from "./node-reads.ts";
import { pageQuery } from "./page-query.ts";
import { type Api, type ApiDependencies, type Call, forbidden, jsonText, resource } from "./route.ts";
import { entriesText } from "./run-texts.ts";
import { parseTime, TIME_FORM } from "./time-query.ts";

const FILTERS = ["since", "until", "action", "by"];
const MAX_ACTION_CHARS = 200;

/** Serves `GET /api/audit`, for administrators: which token changed what, and from where. */
export function serveAudit(api: Api, dependencies: ApiDependencies): void {
  const { audit } = dependencies;
  resource(
    api,
    "/api/audit",
    {
      GET: async (call) => {
        const reading = await authenticateReading(call, dependencies);
        const query = readQuery(call);
        const { claims, family } = reading.by;
        if (!claims.admin) throw forbidden();
        const read = (): Promise<AuditPage> => audit.list(query);
        return answerOfAll(call, dependencies, reading, auditPages(query), read, async ({ entries, next }, nodes) => {
          // Each node has limited its part. A page may not be cut between entries that no cursor can separate.
          const { text } = await entriesText(entries, (entry) => entry, family, Infinity);
          return jsonText(200, `{"entries":${text},${JSON.stringify({ next, nodes }).slice(1)}`);
        });
      },
    },
    "own",
  );
}

/** @throws {Problem} `request_invalid` for a parameter that is unknown or has an invalid value. */
function readQuery(call: Call): AuditQuery {
  const { after, count, query } = pageQuery(call, FILTERS);
  const invalid: MemberFault[] = [];
  const time = (name: string): number | null => {
    const value = query.get(name);
    const ms = value === null ? null : parseTime(value);
    if (value !== null && ms === null) invalid.push({ member: name, detail: TIME_FORM });
    return ms;
  };
  const cursor = parseAuditCursor(after);
  if (after !== "" && !cursor) invalid.push({ member: "cursor", detail: "is not the next of a page" });
  const [action, by] = [query.get("action"), query.get("by")];
  if (action !== null && (action === "" || action.length > MAX_ACTION_CHARS)) {
    invalid.push({ member: "action", detail: `has not 1 to ${MAX_ACTION_CHARS} characters` });
  }
  if (by !== null && !isJti(by)) invalid.push({ member: "by", detail: "is not the jti of a token" });
  const [sinceMs, untilMs] = [time("since"), time("until")];
  refuseFaults("the query", { invalid, exceeding: [] });
  return { sinceMs, untilMs, action, by, after: cursor, count };
}
