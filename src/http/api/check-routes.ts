import { checkCode } from "../../containers/code-check.ts";
import { codeOf } from "../../containers/guest/code-table.ts";
import { Problem } from "../../errors.ts";
import type { Ranges } from "../../packages/names.ts";
import { readSubmission } from "../../source/read-submission.ts";
import type { Caller } from "../../tokens/caller.ts";
import { permitsVerb } from "../../tokens/claims.ts";
import { requireContainer, requireVerb } from "../permissions.ts";
import { hasBody } from "../read-body.ts";
import { containerName } from "../target.ts";
import { readBytes } from "./read-json.ts";
import { type Api, type ApiDependencies, authenticate, type Call, json, lastSegment, resource } from "./route.ts";

/** How many times longer code may be in JSON, because of its escapes. */
const ESCAPE_FACTOR = 4;
const OPTIONS: ReadonlySet<string> = new Set(["file"]);

/**
 * Serves `POST /api/check/{container}`: whether code parses, for editors. The code does not run, and counts against no limit of
 * runs. The answer is a success also if the code does not parse, because the request did what it had to do.
 */
export function serveCheck(api: Api, dependencies: ApiDependencies): void {
  const { containers, checkRate, packages, policies } = dependencies;
  resource(api, "/api/check/:container{[^/]*}", {
    POST: async (call) => {
      const by = await authenticate(call, dependencies);
      const container = containerName(lastSegment(call));
      mayCheck(by, container);
      await checkRate.admit(by);
      const { ranges, ...submitted } = await readCode(call, dependencies, by);
      let isUnbuilt = false;
      try {
        const texts = [submitted.source, ...Object.values(submitted.modules ?? {})];
        const set = await packages.permits.namedInTurns(texts, ranges, by.claims.packages, by.family);
        // A check builds nothing: it is asked at each pause of an author.
        const known = set && (await packages.known(set, by));
        isUnbuilt = set !== null && known === null;
        const code = codeOf({ ...submitted, packages: known?.artefact ?? null });
        // A suspended container has no guest, also none that parses code.
        const isSuspended = Boolean(policies.get(container)?.suspended);
        const checked = !isSuspended && (await checkCode(containers, container, await by.limitSubject(), code));
        return json(200, { checked, error: null });
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        if (isUnbuilt && error.code === "module_missing") return json(200, { checked: true, error: null });
        return json(200, { checked: true, error: viewOf(error) });
      }
    },
  });
}

/** A token that may keep tasks or run code receives the same error from these. */
function mayCheck({ claims }: Caller, container: string): void {
  if (!permitsVerb(claims, "tasks")) requireVerb(claims, "run", "checking code");
  requireContainer(claims, container, "checks");
  if (claims.code === null) return;
  throw new Problem("token_forbidden", "the token is pinned to its code, and checks no other", {
    hint: "Use a token without a pin.",
  });
}

async function readCode(
  call: Call,
  dependencies: ApiDependencies,
  by: Caller,
): Promise<{ source: Buffer; typescript: boolean; modules: Record<string, string> | null; ranges: Ranges | null }> {
  const { codeLimit, jsonDepthLimit } = dependencies.config;
  const { incoming } = call.env;
  if (!hasBody(incoming)) {
    throw new Problem("code_missing", "the request contains no code", { hint: "Send the code as the body." });
  }
  const type = incoming.headers["content-type"];
  const limitBytes = type?.toLowerCase().startsWith("application/json") ? codeLimit * ESCAPE_FACTOR : codeLimit;
  const tooLarge = (): Problem => {
    return new Problem("code_too_large", `the body is longer than the limit of ${limitBytes} bytes`);
  };
  const limits = { codeBytes: codeLimit, jsonDepth: jsonDepthLimit, sha256: null, holder: by.family, options: OPTIONS };
  return await readBytes(call, dependencies, by, { limitBytes, tooLarge }, async (bytes) => {
    const { source, typescript, modules, packages: ranges } = await readSubmission(bytes, type, limits);
    // The guest receives the code after the body is released.
    return { source: Buffer.from(source), typescript, modules, ranges };
  });
}

function viewOf({ code, message, options }: Problem): object {
  return { code, message, hint: options.hint ?? null, at: options.at ?? null };
}
