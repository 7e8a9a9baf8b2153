import { Problem } from "../../errors.ts";
import { type MemberFault, refuseFaults, schemaFaults } from "../../members.ts";
import { type Claims, permitsVerb } from "../../tokens/claims.ts";
import { secretsMember } from "../../tokens/secrets/member.ts";
import { mayHaveSecrets, type Secrets } from "../../tokens/secrets/vault.ts";
import { isRevokedOnRecord } from "../../tokens/store.ts";
import type { Tokens } from "../../tokens/token-service.ts";
import { decode, parseTarget } from "../target.ts";
import { readJson } from "./read-json.ts";
import { type Api, type ApiDependencies, audit, authenticate, type Call, forbidden, json, resource } from "./route.ts";

/**
 * `PUT /api/tokens/{jti}/secrets`: others in place of those that a token has, for administrators and those above it. Not for
 * the token itself: who may run the code of somebody is not therefore who gives it its credentials.
 */
export function serveSecrets(api: Api, dependencies: ApiDependencies): void {
  const { tokens, issueRate } = dependencies;
  const ownerOf = async (jti: string, by: Claims): Promise<Claims> => {
    const claims = (await tokens.store.issued(jti))?.claims;
    const isAbove = permitsVerb(by, "issue") && claims?.parents.includes(by.jti);
    if (!by.admin && !isAbove) throw forbidden();
    if (!claims) throw new Problem("not_found", "no token of that jti is known here; it may have ended long ago");
    return claims;
  };
  resource(api, "/api/tokens/:jti{[^/]*}/secrets", {
    PUT: async (call) => {
      const caller = await authenticate(call, dependencies);
      const { claims: by } = caller;
      const claims = await ownerOf(jtiOf(call), by);
      mustTakeSecrets(claims);
      mustNotHaveEnded(claims, tokens);
      await issueRate.look(caller);
      const given = await readJson(call, dependencies, caller);
      const secrets = await readSecrets(given, claims, tokens);
      await issueRate.admit(caller);
      await tokens.vault.set(claims, secrets);
      if (await isRevokedOnRecord(claims, tokens.store)) {
        // Meanwhile, here or on another node, and what it had is deleted: so must these be.
        await tokens.vault.forget(claims);
        throw new Problem("request_invalid", "the token was revoked, and runs nothing any more");
      }
      audit(call, dependencies, "secrets replaced", { token: claims.jti, by: by.jti });
      return json(200, { jti: claims.jti, replaced: true });
    },
  });
}

/** @throws {Problem} `request_invalid` where everybody who runs code could read them. */
function mustTakeSecrets(claims: Claims): void {
  if (claims.task !== null) {
    // Under the token they would outlive the code that they are for.
    throw new Problem("request_invalid", "the token stands for a named task; its secrets are set with the task", {
      hint: `PUT /api/tasks/${claims.task} takes secrets.`,
    });
  }
  if (mayHaveSecrets(claims)) return;
  throw new Problem("request_invalid", "the token runs free code, which could read them", {
    hint: "Issue one with code, which pins the code that is given them, or with secretsReadable: true.",
  });
}

/** @throws {Problem} `request_invalid`, `token_forbidden` with every fault at once. */
async function readSecrets(given: unknown, claims: Claims, tokens: Tokens): Promise<Secrets> {
  const parsed = secretsMember.safeParse(given);
  const above = await aboveOf(claims, tokens);
  const invalid = parsed.success ? await tooLarge(parsed.data, above, tokens) : schemaFaults(parsed.error);
  refuseFaults("the secrets of the token", { invalid, exceeding: await overriding(above, given, tokens) }, "");
  return parsed.data!;
}

/** One that is not known any more has ended, and what is below it with it. */
async function aboveOf({ parents: [parent] }: Claims, { store: registry }: Tokens): Promise<Claims | null> {
  return parent === undefined ? null : ((await registry.issued(parent))?.claims ?? null);
}

/** In the words of a body that is the object of all secrets itself. */
async function tooLarge(secrets: Secrets, above: Claims | null, { vault }: Tokens): Promise<MemberFault[]> {
  const faults = await vault.faultsOfSize(above, secrets);
  return faults.map(({ detail }) => ({ member: "", detail: `they ${detail}` }));
}

/** Whoever asks: what is inherited wins, and they would be kept for nothing. */
async function overriding(above: Claims | null, given: unknown, { vault }: Tokens): Promise<MemberFault[]> {
  if (!above || typeof given !== "object" || given === null) return [];
  return vault.overriding(above, { secrets: { ...given }, params: {} });
}

/** @throws {Problem} `request_invalid` where they would be kept for nothing. */
function mustNotHaveEnded(claims: Claims, { verifier }: Tokens): void {
  // The signature of a token on record is not looked at, so neither are its keys. A token can get its secrets early.
  const recorded = { claims, key: null, kids: [] };
  const state = verifier.stateOf(recorded, "end");
  if (state === "valid") return;
  const problem = verifier.problem(state, recorded);
  throw new Problem("request_invalid", `${problem.message}, and runs nothing any more`, { cause: problem });
}

function jtiOf(call: Call): string {
  return decode(parseTarget(call.env.incoming.url!).path.split("/").at(-2)!) ?? "";
}
