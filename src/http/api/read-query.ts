import { Problem } from "../../errors.ts";
import { type MemberFault, membersProblem, schemaFaults } from "../../members.ts";
import { parseTarget } from "../target.ts";
import { type Query, TASK_SOURCE } from "./queries.ts";

/** The parameter that a query may have more than once. Its schema reads a list. */
const REPEATABLE = "label";

/** A query with more parameters is rejected unread. No path takes as many, and anyone can send thousands. */
const MAX_PARAMETERS = 100;

/**
 * Reads the query of a request. `key`, which carries a token, may be in every query.
 *
 * @param target the request target (RFC 9112, section 3.2)
 * @throws {Problem} `request_invalid` with all faults: unknown and repeated parameters, and invalid values
 */
export function readQuery<T>(target: string, schema: Query<T>): T {
  mustBeShort(target);
  const { query } = parseTarget(target);
  const faults: MemberFault[] = [];
  const given: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>;
  const repeatable: string[] = [];
  for (const [name, value] of query) {
    if (name === "key") continue;
    if (name === REPEATABLE) {
      repeatable.push(value);
      given[name] = repeatable;
      continue;
    }
    if (name in given) faults.push({ member: name.slice(0, 64), detail: "occurs more than once" });
    given[name] = value;
  }
  const read = schema.safeParse({ ...given });
  if (!read.success) faults.push(...schemaFaults(schema, read.error, whyNotIn(schema), UNKNOWN));
  if (faults.length === 0) return read.data!;
  // The names help only if one of them is wrong.
  const isUnknown = faults.some(({ known }) => known !== undefined);
  throw membersProblem("the query", faults, isUnknown ? hintOf(Object.keys(schema.shape)) : null);
}

const UNKNOWN = "is not a parameter of this path";

/** Names what to do instead of a parameter that belongs elsewhere. */
function whyNotIn({ shape }: Query): (name: string) => string | null {
  return (name) => {
    if (name === "version") return `${UNKNOWN}; a rollback names it in its body, {"version": 3}`;
    if ("dryRun" in shape && (name === "secrets" || name === "modules" || name === "code")) {
      return "cannot be in the query; send the task as JSON, or its code as the body";
    }
    if ("dryRun" in shape && !(name in shape) && Object.hasOwn(TASK_SOURCE.shape, name)) {
      return "is a parameter only if the body is the code itself, with Content-Type: application/javascript or application/typescript";
    }
    if (!("step" in shape)) return null;
    if (name === "container" || name === "task" || name === "token")
      return `${UNKNOWN}; by=${name} counts each ${name}`;
    return name === "format" ? `${UNKNOWN}; the header Accept: text/csv asks for CSV` : null;
  };
}

/** @throws {Problem} `request_invalid` */
function mustBeShort(target: string): void {
  let at = -1;
  for (let count = 1; (at = target.indexOf("&", at + 1)) !== -1; count++) {
    if (count === MAX_PARAMETERS) {
      throw new Problem("request_invalid", `the query has more than ${MAX_PARAMETERS} parameters`);
    }
  }
}

function hintOf(names: readonly string[]): string {
  return names.length === 0 ? "This path takes no parameters." : `The parameters here are ${names.join(", ")}.`;
}
