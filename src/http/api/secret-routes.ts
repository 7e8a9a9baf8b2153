import { Problem } from "../../errors.ts";
import { type MemberFault, refuseFaults, schemaFaults } from "../../members.ts";
import { type Claims, permitsVerb } from "../../tokens/claims.ts";
import { secretsMember } from "../../tokens/secrets/secrets-member.ts";
import { mayHaveSecrets, type Secrets } from "../../tokens/secrets/vault.ts";
import { isRevokedOnRecord } from "../../tokens/store.ts";
import type { Tokens } from "../../tokens/token-service.ts";
import { requireVerb, tokenOutOfReach } from "../permissions.ts";
import { parseTarget } from "../target.ts";
import { jtiOf as readJti, noSuchToken } from "./jti.ts";
import { readJson } from "./read-json.ts";
import { type Api, type ApiDependencies, audit, authenticate, type Call, json, resource } from "./route.ts";

/**
 * Serves `PUT /api/tokens/{jti}/secrets`, which replaces the secrets of a token. Administrators and ancestors of the
 * token may do this. The token itself may not: permission to run the code does not include permission to choose its
 * credentials.
 */
export function serveSecrets(api: Api, dependencies: ApiDependencies): void {
  const { tokens, issueRate } = dependencies;
  const ownerOf = async (jti: string, by: Claims): Promise<Claims> => {
    const claims = (await tokens.store.issued(jti))?.claims;
    const isAbove = permitsVerb(by, "issue") && claims?.parents.includes(by.jti);
    if (!by.admin && !isAbove) {
      requireVerb(by, "issue", "replacing secrets");
      throw tokenOutOfReach("replacing the secrets", "the tokens below it");
    }
    if (!claims) throw noSuchToken();
    return claims;
  };
  resource(api, "/api/tokens/:jti{[^/]*}/secrets", {
    PUT: async (call) => {
      const caller = await authenticate(call, dependencies);
      const { claims: by } = caller;
      const claims = await ownerOf(jtiOf(call), by);
      requireSecretsAllowed(claims);
      requireNotEnded(claims, tokens);
      await issueRate.look(caller);
      const body = await readJson(call, dependencies, caller, '{"API_KEY":"..."}');
      const secrets = await readSecrets(body, claims, tokens);
      await issueRate.admit(caller);
      await tokens.vault.set(claims, secrets);
      if (await isRevokedOnRecord(claims, tokens.store)) {
        // A node revoked the token meanwhile and deleted its old secrets, so the new secrets are deleted too.
        await tokens.vault.forget(claims);
        throw new Problem("request_invalid", "the token was revoked and cannot run code any more");
      }
      await audit(call, dependencies, "secrets replaced", caller, { token: claims.jti });
      return json(200, { jti: claims.jti, replaced: true });
    },
  });
}

/** @throws {Problem} `request_invalid` if any caller that may run code with the token could read the secrets */
function requireSecretsAllowed(claims: Claims): void {
  if (claims.task !== null) {
    // Secrets that are set for the token would outlive the version of the code that they belong to.
    throw new Problem("request_invalid", "the token belongs to a named task; its secrets are set with the task", {
      hint: `PUT /api/tasks/${claims.task} accepts secrets.`,
    });
  }
  if (mayHaveSecrets(claims)) return;
  throw new Problem("request_invalid", "the token runs any code that a caller sends, which could read the secrets", {
    hint: "Issue a token with code, which pins the code that receives the secrets, or with secretsReadable: true.",
  });
}

/** @throws {Problem} `request_invalid`, `token_forbidden`, with all faults at once */
async function readSecrets(body: unknown, claims: Claims, tokens: Tokens): Promise<Secrets> {
  const parsed = secretsMember.safeParse(body);
  const parent = await parentOf(claims, tokens);
  const invalid = parsed.success
    ? await tooLarge(parsed.data, parent, tokens)
    : schemaFaults(secretsMember, parsed.error);
  refuseFaults("the secrets of the token", { invalid, exceeding: await overriding(parent, body, tokens) }, "");
  return parsed.data!;
}

/** Returns the parent of a token. A parent that is not stored any more has ended, and so have its descendants. */
async function parentOf({ parents: [parent] }: Claims, { store }: Tokens): Promise<Claims | null> {
  return parent === undefined ? null : ((await store.issued(parent))?.claims ?? null);
}

/** Returns the faults of size, worded for a body that is itself the object of all secrets. */
async function tooLarge(secrets: Secrets, parent: Claims | null, { vault }: Tokens): Promise<MemberFault[]> {
  const faults = await vault.faultsOfSize(parent, secrets);
  return faults.map(({ detail }) => ({ member: "", detail: `they ${detail}` }));
}

/**
 * Returns a fault for each name that the token inherits, for administrators too: the inherited value would always win.
 */
async function overriding(parent: Claims | null, body: unknown, { vault }: Tokens): Promise<MemberFault[]> {
  if (!parent || typeof body !== "object" || body === null) return [];
  return vault.overriding(parent, { secrets: { ...body }, params: {} });
}

/** @throws {Problem} `request_invalid` if the token has ended, because its secrets would never be used */
function requireNotEnded(claims: Claims, { verifier }: Tokens): void {
  // The claims come from the store, not from a signed token, so no key is checked. A token may receive secrets before
  // its `nbf`, so only the end of its lifetime is checked.
  const recorded = { claims, key: null, kids: [] };
  const state = verifier.stateOf(recorded, "end");
  if (state === "valid") return;
  const problem = verifier.problem(state, recorded);
  throw new Problem("request_invalid", `${problem.message}, and cannot run code any more`, { cause: problem });
}

function jtiOf(call: Call): string {
  return readJti(parseTarget(call.env.incoming.url!).path.split("/").at(-2)!);
}
