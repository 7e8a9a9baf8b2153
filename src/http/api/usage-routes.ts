import { membersProblem } from "../../members.ts";
import { Slices } from "../../next-turn.ts";
import { fitUsage, usageRows } from "../../nodes/answers/usage.ts";
import type { UsageAnswer, UsageQuery, UsageRow } from "../../records/usage/usage.ts";
import type { Caller } from "../../tokens/caller.ts";
import { requireVerb } from "../permissions.ts";
import { answerOfAll, authenticateReading } from "./node-reads.ts";
import { USAGE } from "./queries.ts";
import { readQuery } from "./read-query.ts";
import { type Api, type ApiDependencies, type Call, jsonText, resource, text } from "./route.ts";
import { CSV_TYPE, csvTable } from "./usage-csv.ts";

const DAY_MS = 86_400_000;
/** The most bytes of the rows of an answer in JSON: twice what 10,000 usual rows have. */
const MAX_ANSWER_BYTES = 12 * 2 ** 20;

/** Serves `GET /api/usage`: for administrators all counts, for tokens with `logs` those of their containers. */
export function serveUsage(api: Api, dependencies: ApiDependencies): void {
  const { usage } = dependencies;
  resource(
    api,
    "/api/usage",
    {
      GET: async (call) => {
        const reading = await authenticateReading(call, dependencies);
        const { by: caller } = reading;
        const range = usageRange(call, Date.now());
        requireVerb(caller.claims, "logs", "reading usage");
        const read = (): Promise<UsageAnswer> => usage.read({ ...range, ...visibleTo(caller) }, caller.family);
        return answerOfAll(call, dependencies, reading, usageRows(range), read, async (answer, nodes) => {
          const { rows, isTruncated } = await fitUsage(answer, range.by, MAX_ANSWER_BYTES, caller.family);
          if (!wantsCsv(call)) {
            const written = await inSlices(rows, (row) => JSON.stringify(row), ",", caller);
            return jsonText(200, `{"usage":[${written}],"truncated":${isTruncated},"nodes":${JSON.stringify(nodes)}}`);
          }
          const { head, line } = await csvTable(range.by, rows, caller.family);
          // A table has no place for them. The headers are a dictionary and a boolean (RFC 9651, sections 3.2 and 3.3.6).
          const counts = ["Caisson-Nodes", `asked=${nodes.asked}, answered=${nodes.answered}`];
          if (isTruncated) counts.push("Caisson-Truncated", "?1");
          return text(200, head + (await inSlices(rows, line, "", caller)), CSV_TYPE, counts);
        });
      },
    },
    { GET: USAGE },
  );
}

function visibleTo({ claims, family }: Caller): Pick<UsageQuery, "permitted" | "others"> {
  if (claims.admin) return { permitted: ["*"], others: "all" };
  // The topmost token of a family has the containers of all tokens below it, so it sees the counts without a name.
  return { permitted: claims.containers, others: claims.jti === family ? { family } : "none" };
}

/** @throws {Problem} `request_invalid` if the query selects no time. */
function usageRange(call: Call, nowMs: number): Pick<UsageQuery, "by" | "step" | "fromMs" | "toMs"> {
  const { by, step, from, to: toMs = nowMs } = readQuery(call.env.incoming.url!, USAGE);
  const fromMs = from ?? toMs - DAY_MS;
  if (fromMs >= toMs) throw membersProblem("the query", [{ member: "from", detail: "is not before to" }]);
  return { by, step, fromMs, toMs };
}

/** Writes rows in slices: a row of an answer of many nodes may have hundreds of cells. */
async function inSlices(
  rows: readonly UsageRow[],
  write: (row: UsageRow) => string,
  separator: string,
  { family }: Caller,
): Promise<string> {
  const slices = new Slices(family);
  const parts: string[] = [];
  for (const row of rows) {
    if (slices.hasEnded) await slices.next();
    parts.push(write(row));
  }
  return parts.join(separator);
}

/** Whether the client asks for CSV: it accepts it, and JSON not more than it (RFC 9110, section 12.5.1). */
function wantsCsv(call: Call): boolean {
  const { accept = "" } = call.env.incoming.headers;
  const csv = qualityOf("text/csv", accept);
  return csv > 0 && csv >= qualityOf("application/json", accept);
}

/** @returns 0 if the type is not named. */
function qualityOf(type: string, accept: string): number {
  for (const range of accept.toLowerCase().split(",")) {
    const [name, ...parameters] = range.split(";").map((part) => part.trim());
    if (name !== type) continue;
    const quality = parameters.find((each) => each.startsWith("q="));
    return quality === undefined ? 1 : Number(quality.slice(2)) || 0;
  }
  return 0;
}
