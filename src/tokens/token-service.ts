import { existsSync } from "node:fs";
import { join } from "node:path";

import type { Clock } from "../limits/clock.ts";
import type { Caller } from "./caller.ts";
import { issue, type Issued, type IssueQuotas } from "./issue.ts";
import { lost } from "./keys/key-file.ts";
import { KeyRing } from "./keys/key-ring.ts";
import { keepKeys, type KeyNews } from "./keys/watch-keys.ts";
import { makePrivateFolder } from "./private-file.ts";
import { lostKey, SecretKey } from "./secrets/key.ts";
import type { SecretStore } from "./secrets/store.ts";
import { SqliteSecretStore } from "./secrets/stores/sqlite.ts";
import { Vault } from "./secrets/vault.ts";
import type { TokenStore } from "./store.ts";
import { SqliteTokenStore } from "./stores/sqlite.ts";
import { Uses } from "./uses.ts";
import { Verifier } from "./verify.ts";

/** All that has to do with tokens, opened from a data folder. */
export interface Tokens {
  readonly keys: KeyRing;
  readonly store: TokenStore;
  readonly verifier: Verifier;
  /**
   * As `issue` in `issue.ts`, at this moment, for an administrator: its `jti`, or words for what asks; or for a token, which
   * needs quotas.
   */
  readonly issue: (input: unknown, issuedBy: string | Caller, quotas?: IssueQuotas) => Promise<Issued>;
  /** As `revoke` of the registry, at this moment. */
  readonly revoke: (jti: string, revokedBy: string, end?: number | null) => Promise<boolean>;
  /** What their code is given and nobody else. */
  readonly vault: Vault;
  /** What tokens are used for. */
  readonly uses: Uses;
  readonly close: () => Promise<void>;
}

export interface OpenOptions {
  /** Whether a first key may be made in the folder. `true` for the service, `false` for commands beside it. */
  create?: boolean;
  /** The clock, in Unix milliseconds. */
  nowMs?: () => number;
  /** Reports the uptime of the system, by which ended records are deleted. */
  uptime?: Pick<Clock, "sinceBoot">;
  /** The register that nodes share, instead of the folder's own. It is closed with the rest. */
  registry?: TokenStore | undefined;
  /** The secrets that nodes share, instead of the folder's own. They are closed with the rest. */
  secrets?: SecretStore | undefined;
  /** The bytes of secrets that one family may keep. */
  familySecrets?: number;
  /** The key of secrets that nodes share, instead of the folder's own. It is never made here. */
  secretsKey?: string | undefined;
  /** Told of the keys, which then follow their file. */
  onKeys?: KeyNews;
}

/**
 * Opens the keys and the register of tokens.
 *
 * @param keysFile the keys that several nodes share, instead of the folder's own. It is never made here: a node that
 * makes its own in place of a missing one would refuse the tokens of all others.
 * @throws {Error} when a file is missing, damaged or open to others: it says what to do.
 */
export async function openTokens(folder: string, keysFile?: string, options: OpenOptions = {}): Promise<Tokens> {
  const { create = true, nowMs = Date.now, onKeys } = options;
  if (create) await makePrivateFolder(folder);
  const file = keysFile ?? join(folder, "keys.json");
  const own = create && keysFile === undefined;
  if (own && !options.registry && !existsSync(file)) refuseUsed(folder, file, nowMs());
  const keys = await KeyRing.open(file, { create: own, nowMs });
  const registry = options.registry ?? SqliteTokenStore.open(join(folder, "tokens.sqlite"), nowMs(), options.uptime);
  // Where nodes have the keys in common and not the register, nobody knows what others have signed.
  const whole = keysFile === undefined || options.registry !== undefined;
  const keeper = onKeys ? keepKeys(keys, whole ? registry : null, onKeys, nowMs) : null;
  const verifier = new Verifier(keys, registry, { nowMs });
  const uses = new Uses(registry, nowMs);
  const vault = await openVault(folder, options);
  return {
    keys,
    store: registry,
    verifier,
    issue: (input, by, quotas = NO_QUOTAS) => {
      return issue(input, { keys, registry, vault, ...issuerOf(by), nowMs: nowMs(), quotas });
    },
    revoke: async (jti, revokedBy, end) => {
      const first = await registry.revoke(jti, revokedBy, nowMs(), end);
      const issued = await registry.issued(jti);
      // Also where it was revoked before: the one who did may not have come so far.
      await vault.forget({ jti, parents: issued?.claims.parents ?? [] });
      return first;
    },
    vault,
    uses,
    close: async () => {
      await keeper?.stop();
      await uses.close();
      vault.close();
      registry.close();
    },
  };
}

/** A new key in place of a lost one would end every token, and nobody would have asked for that. */
function refuseUsed(folder: string, file: string, nowMs: number): void {
  const registry = SqliteTokenStore.open(join(folder, "tokens.sqlite"), nowMs);
  try {
    if (registry.list("", 1).length > 0) throw lost(file);
  } finally {
    registry.close();
  }
}

async function openVault(folder: string, { create = true, nowMs = Date.now, ...options }: OpenOptions): Promise<Vault> {
  const file = options.secretsKey ?? join(folder, "secrets.key");
  const own = create && options.secretsKey === undefined;
  const isMissing = own && !existsSync(file);
  const store = options.secrets ?? SqliteSecretStore.open(join(folder, "secrets.sqlite"), nowMs, options.uptime);
  try {
    if (isMissing && store instanceof SqliteSecretStore && !store.isEmpty()) throw lostKey(file);
    return new Vault(store, await SecretKey.open(file, { create: own }), nowMs, options.familySecrets);
  } catch (error) {
    store.close();
    throw error;
  }
}

const NO_QUOTAS: IssueQuotas = { familyTokens: Infinity, admit: () => Promise.resolve() };

/** What an administrator issues starts a chain of its own, so that his token can be replaced and revoked without it. */
function issuerOf(by: string | Caller): { issuedBy: string; above: Caller | null } {
  if (typeof by === "string") return { issuedBy: by, above: null };
  const { jti, admin } = by.claims;
  return { issuedBy: jti, above: admin ? null : by };
}
