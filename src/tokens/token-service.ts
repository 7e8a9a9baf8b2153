import { existsSync } from "node:fs";
import { join } from "node:path";

import type { Clock } from "../limits/steady-clock.ts";
import type { Caller } from "./caller.ts";
import { issue, type Issued, type IssueQuotas } from "./issue.ts";
import { lost } from "./keys/key-file.ts";
import { KeyRing } from "./keys/key-ring.ts";
import { watchKeys, type KeyEvents } from "./keys/watch-keys.ts";
import { makePrivateFolder } from "./private-file.ts";
import { lostKey, SecretKey } from "./secrets/key.ts";
import type { SecretStore } from "./secrets/store.ts";
import { SqliteSecretStore } from "./secrets/stores/sqlite.ts";
import { Vault } from "./secrets/vault.ts";
import type { TokenStore } from "./store.ts";
import { SqliteTokenStore } from "./stores/sqlite.ts";
import { Uses } from "./uses.ts";
import { Verifier } from "./verify.ts";

/** Everything about tokens, opened from a data folder. */
export interface Tokens {
  readonly keys: KeyRing;
  readonly store: TokenStore;
  readonly verifier: Verifier;
  /**
   * Issues a token now, as `issue` in `issue.ts`. The issuer is an administrator (a `jti`, or a description), or a token, which
   * has quotas.
   */
  readonly issue: (input: unknown, issuedBy: string | Caller, quotas?: IssueQuotas) => Promise<Issued>;
  /** Revokes a token now, as `revoke` of the store, and deletes the secrets of the token and those below it. */
  readonly revoke: (jti: string, revokedBy: string, end?: number | null) => Promise<boolean>;
  /** The secrets that only the code of their token receives. */
  readonly vault: Vault;
  /** The recorded use of tokens. */
  readonly uses: Uses;
  readonly close: () => Promise<void>;
}

export interface OpenOptions {
  /** Whether a first key may be created in the folder: `true` for the service, `false` for commands that run next to it. */
  create?: boolean;
  /** The clock, in Unix milliseconds. */
  nowMs?: () => number;
  /** Reports the uptime of the system, which limits how fast ended records are deleted. */
  uptime?: Pick<Clock, "sinceBoot">;
  /** The token store that nodes share, instead of the store in the folder. It is closed with the rest. */
  registry?: TokenStore | undefined;
  /** The secret store that nodes share, instead of the store in the folder. It is closed with the rest. */
  secrets?: SecretStore | undefined;
  /** How many bytes of secrets one family may store. */
  familySecrets?: number;
  /** The file with the secrets key that nodes share, instead of the key in the folder. It is never created here. */
  secretsKey?: string | undefined;
  /** Receives the events of the keys. If it is set, the keys follow their file. */
  onKeys?: KeyEvents;
}

/**
 * Opens the keys and the token store.
 *
 * @param keysFile the file with the keys that several nodes share, instead of the keys in the folder. It is never created here:
 * a node that created its own keys because the file is missing would reject the tokens of all other nodes.
 * @throws {Error} when a file is missing, damaged or accessible to other users. The message contains the fix.
 */
export async function openTokens(folder: string, keysFile?: string, options: OpenOptions = {}): Promise<Tokens> {
  const { create = true, nowMs = Date.now, onKeys } = options;
  if (create) await makePrivateFolder(folder);
  const file = keysFile ?? join(folder, "keys.json");
  const own = create && keysFile === undefined;
  if (own && !options.registry && !existsSync(file)) throwIfUsed(folder, file, nowMs());
  const keys = await KeyRing.open(file, { create: own, nowMs });
  const store = options.registry ?? SqliteTokenStore.open(join(folder, "tokens.sqlite"), nowMs(), options.uptime);
  // If nodes share the keys and not the store, this store does not have all tokens that the keys have signed.
  const isComplete = keysFile === undefined || options.registry !== undefined;
  const watcher = onKeys ? watchKeys(keys, isComplete ? store : null, onKeys, nowMs) : null;
  const verifier = new Verifier(keys, store, { nowMs });
  const uses = new Uses(store, nowMs);
  const vault = await openVault(folder, options);
  /** The tokens that this process revoked and whose secrets it deleted, oldest first. */
  const cleared = new Set<string>();
  return {
    keys,
    store,
    verifier,
    issue: (input, by, quotas = NO_QUOTAS) => {
      return issue(input, { keys, store, vault, ...issuerOf(by), nowMs: nowMs(), quotas });
    },
    revoke: async (jti, revokedBy, end) => {
      const first = await store.revoke(jti, revokedBy, nowMs(), end);
      // Callers can repeat a revocation at any rate, and the search for secrets below it reads all secrets of the family. Once
      // is enough: secrets that are set after a revocation are deleted by the call that set them.
      if (cleared.has(jti)) return first;
      const issued = await store.issued(jti);
      // Also if it was revoked before: the process that revoked it may have ended before this step.
      await vault.forget({ jti, parents: issued?.claims.parents ?? [] });
      cleared.add(jti);
      if (cleared.size > MAX_CLEARED) cleared.delete(cleared.values().next().value!);
      return first;
    },
    vault,
    uses,
    close: async () => {
      await watcher?.stop();
      await uses.close();
      vault.close();
      store.close();
    },
  };
}

/** Throws if the store has tokens: a new key instead of the lost one would end all of them without a decision of the operator. */
function throwIfUsed(folder: string, file: string, nowMs: number): void {
  const store = SqliteTokenStore.open(join(folder, "tokens.sqlite"), nowMs);
  try {
    if (store.list("", 1).length > 0) throw lost(file);
  } finally {
    store.close();
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

/** The most revoked tokens that a process remembers: ten times the default of `--family-tokens`. */
const MAX_CLEARED = 10_000;

const NO_QUOTAS: IssueQuotas = { familyTokens: Infinity, admit: () => Promise.resolve() };

/** A token that an administrator issues starts a new chain, so that the administrative token can be replaced and revoked. */
function issuerOf(by: string | Caller): { issuedBy: string; above: Caller | null } {
  if (typeof by === "string") return { issuedBy: by, above: null };
  const { jti, admin } = by.claims;
  return { issuedBy: jti, above: admin ? null : by };
}
