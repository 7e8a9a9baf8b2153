import { z } from "zod";

import { Problem } from "../../errors.ts";
import { membersProblem, schemaFaults } from "../../members.ts";
import { BAD_PERMIT, packageOf, readPermit } from "../../package-names.ts";
import { rangesMember } from "../../packages/member.ts";
import type { PackageSet } from "../../packages/model.ts";
import type { Ranges } from "../../packages/names.ts";
import { BuildGoesOn } from "../../packages/wait-for-build.ts";
import { askerOf } from "../../tasks/task-packages.ts";
import type { Caller } from "../../tokens/caller.ts";
import { requireAdmin, requireVerb } from "../permissions.ts";
import { decode } from "../target.ts";
import { readJson } from "./read-json.ts";
import {
  type Api,
  type ApiDependencies,
  audit,
  authenticate,
  type Call,
  json,
  lastSegment,
  resource,
} from "./route.ts";
import { shownLock } from "./shown-lock.ts";

const WARM = '{"packages":{"zod":"^4"}}';
const SEGMENT = "{[^/]*}";
/** The body of `POST /api/packages/warm`. */
interface WarmRequest {
  readonly packages: Ranges;
  readonly entries?: readonly string[];
}

const MAX_ENTRIES = 100;
/** The beginning of an entry as code requires it, in locks. */
const REQUIRED = "require:";
const ENTRIES = `must be a list of at most ${MAX_ENTRIES} modules of these packages, such as ["zod/mini"]`;

export const warmRequest: z.ZodType<WarmRequest> = z.strictObject(
  {
    packages: rangesMember,
    entries: z.exactOptional(z.array(z.string(ENTRIES), ENTRIES).max(MAX_ENTRIES, ENTRIES)),
  },
  { error: (issue) => (issue.code === "invalid_type" ? `must be a JSON object such as ${WARM}` : undefined) },
);

/** Serves what code may import, and what is built of it. */
export function servePackages(api: Api, dependencies: ApiDependencies): void {
  const { packages, config, issueRate } = dependencies;
  resource(api, "/api/packages", {
    GET: async (call) => {
      const by = await authenticate(call, dependencies);
      return json(200, {
        ...shownPolicy(dependencies),
        ...packages.stored(familyOf(by)),
        builds: packages.building(familyOf(by)),
        maxBytes: config.packagesSize,
      });
    },
  });
  resource(api, "/api/packages/warm", {
    POST: async (call) => {
      const by = await authenticate(call, dependencies);
      requireVerb(by.claims, "run", "building packages");
      requireUnpinned(by);
      await issueRate.look(by);
      const set = setOf(await readJson(call, dependencies, by, WARM), by, dependencies);
      // A build keeps two processes and the registry busy for seconds, and counts for no run.
      await issueRate.admit(by);
      const waiting = { waitMs: config.packagesWait };
      try {
        const { lock, artefact } = await packages.resolve(set, askerOf(by), waiting);
        return json(200, { lock: shownLock(lock), bytes: artefact.artefact.length });
      } catch (error) {
        // The queue may have refused the build with the same code.
        if (!(error instanceof BuildGoesOn)) throw error;
        return json(202, { build: { state: "building" } }, RETRY_AFTER);
      }
    },
  });
  resource(api, `/api/packages/locks/:key${SEGMENT}`, {
    GET: async (call) => {
      const by = await authenticate(call, dependencies);
      const found = packages.storedOf(lastSegment(call), familyOf(by));
      if (!found) throw noSuchLock();
      return json(200, { lock: shownLock(found.lock), bytes: found.bytes });
    },
    DELETE: async (call) => {
      const by = await authenticate(call, dependencies);
      requireAdmin(by.claims, "removing built packages");
      const key = lastSegment(call);
      if (!(await packages.artefacts.remove(key))) throw noSuchLock();
      await audit(call, dependencies, "packages removed", by, { lock: key });
      return json(200, { lock: key, removed: true });
    },
  });
  const authorizeAdmin = async (call: Call): Promise<[string, Caller]> => {
    const by = await authenticate(call, dependencies);
    requireAdmin(by.claims, "the list of packages");
    const entry = decode(lastSegment(call)) ?? "";
    if (readPermit(entry) === null) throw membersProblem("the path", [{ member: "package", detail: BAD_PERMIT }]);
    return [entry, by];
  };
  resource(api, `/api/packages/allow/:entry${SEGMENT}`, {
    PUT: async (call) => {
      const [entry, by] = await authorizeAdmin(call);
      if (await packages.permits.add(entry, by.claims.jti))
        await audit(call, dependencies, "package allowed", by, { package: entry });
      return json(200, shownPolicy(dependencies));
    },
    DELETE: async (call) => {
      const [entry, by] = await authorizeAdmin(call);
      if (config.npmAllow.includes(entry)) {
        throw new Problem("request_invalid", `the package ${entry} is in the setting --npm-allow`, {
          hint: "Remove it from the setting, and start the service again.",
        });
      }
      if (!(await packages.permits.remove(entry))) {
        throw new Problem("not_found", `the list has no entry ${entry}`, {
          hint: "caisson packages list prints the entries. An entry is removed as it was added, with its range.",
        });
      }
      await audit(call, dependencies, "package disallowed", by, { package: entry });
      return json(200, shownPolicy(dependencies));
    },
  });
}

/** A token that is pinned to its code runs only packages that this code names, and only its runs may build them. */
function requireUnpinned({ claims }: Caller): void {
  if (claims.code === null) return;
  throw new Problem("code_pinned", "the token is pinned to its code, and builds no packages without it", {
    hint: "Use a token without a pin.",
  });
}

const RETRY_AFTER = ["Retry-After", "2"];

/** The family whose sets a token may see; null for an administrator, who may see all. */
function familyOf({ claims, family }: Caller): string | null {
  return claims.admin ? null : family;
}

function shownPolicy({ packages, config }: ApiDependencies): object {
  const added = packages.permits.added.map(({ entry, by, at }) => ({
    package: entry,
    setBy: "administrator",
    by,
    at: new Date(at).toISOString(),
  }));
  const set = config.npmAllow.map((entry) => ({ package: entry, setBy: "setting", by: null, at: null }));
  return { npm: config.npm, allow: [...set, ...added.filter(({ package: name }) => !config.npmAllow.includes(name))] };
}

function setOf(input: unknown, by: Caller, { packages }: ApiDependencies): PackageSet {
  const parsed = warmRequest.safeParse(input);
  if (!parsed.success) throw membersProblem("the request", schemaFaults(warmRequest, parsed.error));
  const { packages: ranges, entries: named = [] } = parsed.data;
  const entries = named.map((entry) => (entry.startsWith(REQUIRED) ? entry.slice(REQUIRED.length) : entry));
  const other = entries.find((entry) => !Object.hasOwn(ranges, packageOf(entry) ?? ""));
  if (other !== undefined) {
    throw membersProblem("the request", [
      { member: "entries", detail: `has ${other.slice(0, 64)}, which is of none of the packages` },
    ]);
  }
  const texts = entries.map((entry) => JSON.stringify(entry));
  // As code that calls it, which needs all entries for both.
  if (named.some((entry) => entry.startsWith(REQUIRED))) texts.push("require");
  const set = packages.permits.named(texts, ranges, by.claims.packages);
  if (!set) throw membersProblem("the request", [{ member: "packages", detail: "names no package" }]);
  return set;
}

function noSuchLock(): Problem {
  return new Problem("not_found", "there are no built packages with this key", {
    hint: "GET /api/packages lists the keys.",
  });
}
