import { Problem } from "../../errors.ts";
import type { MemberFault } from "../../members.ts";
import type { Claims } from "../claims.ts";
import { quotaExceeded } from "../family-quota.ts";
import { LEEWAY_S } from "../token-format.ts";
import type { SecretKey } from "./key.ts";
import { SharedValues } from "./shared-values.ts";
import type { SecretStore } from "./store.ts";

/** Secrets by name. */
export type Secrets = Readonly<Record<string, string>>;

/** The secrets that one run receives. */
export interface RunSecrets {
  /** All secrets by name, as JSON. */
  readonly json: string;
  readonly names: readonly string[];
  readonly values: readonly string[];
  /** A text that differs after each change of the secrets. It reveals nothing about them. */
  readonly version: string;
  /** The topmost token of the family. The memory of these secrets counts against it. */
  readonly family: string;
}

/** The claims of a token on which its secrets depend. */
export type Owner = Pick<Claims, "jti" | "parents" | "exp">;

/** The claims of a token that determine what the code of tokens below it inherits. */
export type Above = Owner & Pick<Claims, "params">;

/** The values that the code of a token would receive. The vault reads only the names of the secrets. */
interface CodeValues {
  readonly secrets: Readonly<Record<string, unknown>>;
  readonly params: Claims["params"];
}

/**
 * The maximum bytes of all values that one run receives, including inherited ones. The service sends them with each run and
 * searches all log output of the run for them.
 */
export const MAX_VALUE_BYTES: number = 64 * 2 ** 10;

/** The secrets of tokens: encrypted and bound to the `jti` in the store, and decrypted only for a run. */
export class Vault {
  readonly #store: SecretStore;
  readonly #key: SecretKey;
  readonly #nowMs: () => number;
  readonly #familyBytes: number;
  /** A guest keeps the secrets of up to 2,048 ended runs, to remove them from late lines. Runs of a token share them. */
  readonly #inUse = new SharedValues<RunSecrets>();

  /** @param familyBytes how many bytes of encrypted secrets a token and all tokens below it may have */
  constructor(store: SecretStore, key: SecretKey, nowMs: () => number, familyBytes: number = Infinity) {
    this.#store = store;
    this.#key = key;
    this.#nowMs = nowMs;
    this.#familyBytes = familyBytes;
  }

  /**
   * Sets the secrets of a token. The previous ones are deleted.
   *
   * @throws {Problem} `quota_exceeded` when its family has no room for them, `store_unavailable` when they cannot be stored.
   */
  async set({ jti, parents, exp }: Owner, secrets: Secrets): Promise<void> {
    if (Object.keys(secrets).length === 0) return this.#store.remove(jti, parents, { below: false });
    const sealed = this.#key.seal(jti, JSON.stringify(secrets));
    const forgetAt = exp === null ? null : (exp + LEEWAY_S) * 1_000;
    const isStored = await this.#store.put({ jti, parents, sealed, forgetAt }, this.#nowMs(), this.#familyBytes);
    if (isStored) return;
    throw quotaExceeded(
      `the token family may store ${this.#familyBytes} bytes of secrets, and these would exceed that`,
      "The encrypted size counts, which is a third larger. Set fewer secrets for another token of the family; the operator sets " +
        "the number with --family-secrets.",
    );
  }

  /**
   * Returns a fault if one run cannot receive these secrets together with the inherited ones, because they are too large.
   *
   * @param above the token from which secrets are inherited, or null
   * @throws {Problem} `store_unavailable` when the inherited secrets cannot be read.
   */
  async faultsOfSize(above: Owner | null, secrets: Secrets): Promise<MemberFault[]> {
    const values = Object.values(secrets);
    if (values.length === 0) return [];
    const own = bytesOf(values);
    const bytes = own + (above === null ? 0 : bytesOf((await this.of(above))?.values ?? []));
    if (bytes <= MAX_VALUE_BYTES) return [];
    const inherited = bytes === own ? "" : `, ${bytes - own} of them inherited`;
    const detail = `have ${bytes} bytes${inherited}; a run receives at most ${MAX_VALUE_BYTES}`;
    return [{ member: "secrets", detail }];
  }

  /**
   * Returns the secrets of a token and of those above it. If a name occurs twice, the highest token's value applies. The result
   * is a promise only if the store is remote.
   *
   * @returns null if there are none.
   * @throws {Problem} `store_unavailable`, thrown or as a rejection, when they cannot be read.
   */
  of({ jti, parents }: Owner): RunSecrets | null | Promise<RunSecrets | null> {
    const found = this.#store.get(jti, parents);
    const read = (sealed: readonly (string | null)[]): RunSecrets | null => this.#read([jti, ...parents], sealed);
    return found instanceof Promise ? found.then(read) : read(found);
  }

  /** Returns the secrets of the token itself, without inherited ones. @throws {Problem} `store_unavailable` */
  async own({ jti, parents }: Owner): Promise<Secrets> {
    const [sealed] = await this.#store.get(jti, parents);
    return sealed ? this.#open(jti, sealed) : {};
  }

  /**
   * Finds names that the tokens above already use. Values of a token apply unchanged to all tokens below it. The `env` of a fetch
   * handler contains both params and secrets, so neither may use a name of the other.
   *
   * @returns a fault for each name that is in use.
   * @throws {Problem} `store_unavailable` when the inherited secrets cannot be read.
   */
  async overriding(above: Above, { secrets, params }: CodeValues): Promise<MemberFault[]> {
    // `params` also contains the inherited ones.
    const added = Object.keys(params).filter((name) => !Object.hasOwn(above.params, name));
    const names = Object.keys(secrets);
    if (names.length === 0 && added.length === 0) return [];
    const inherited = new Set((await this.of(above))?.names);
    const members = [
      ...names
        .filter((name) => inherited.has(name) || Object.hasOwn(above.params, name))
        .map((name) => `secrets.${name}`),
      ...added.filter((name) => inherited.has(name)).map((name) => `params.${name}`),
    ];
    return members.map((member) => ({ member, detail: "is inherited unchanged; leave it out" }));
  }

  /** Deletes the secrets of an ended token and of all tokens below it. @throws {Problem} `store_unavailable` */
  async forget({ jti, parents }: Pick<Owner, "jti" | "parents">): Promise<void> {
    await this.#store.remove(jti, parents, { below: true });
  }

  close(): void {
    this.#store.close();
  }

  #read(jtis: readonly string[], sealed: readonly (string | null)[]): RunSecrets | null {
    let all: Secrets = {};
    let version = "";
    for (const [at, text] of sealed.entries()) {
      if (text === null) continue;
      all = { ...all, ...this.#open(jtis[at]!, text) };
      // The nonce of the text, which is unique.
      version += `${text.slice(0, VERSION_CHARS)} `;
    }
    if (version === "") return null;
    const values = Object.values(all);
    // This is not found when secrets are set: a token above may get more secrets after those below it have theirs.
    if (bytesOf(values) > MAX_VALUE_BYTES) throw tooMany(bytesOf(values));
    const read = { json: JSON.stringify(all), names: Object.keys(all), values, version, family: jtis.at(-1)! };
    // The texts were authentic, and each has a unique nonce. So equal versions are equal secrets.
    return this.#inUse.share(version, read);
  }

  #open(jti: string, sealed: string): Secrets {
    try {
      return JSON.parse(this.#key.open(jti, sealed)) as Secrets;
    } catch (error) {
      const detail = "the secrets of the token cannot be read: they were encrypted with another key, or are damaged";
      throw new Problem("store_unavailable", detail, {
        hint: "The operator gives all nodes the same --secrets-key, or sets the secrets again.",
        cause: error,
      });
    }
  }
}

const VERSION_CHARS = 16;

function bytesOf(values: readonly string[]): number {
  return values.reduce((sum, value) => sum + Buffer.byteLength(value), 0);
}

function tooMany(bytes: number): Problem {
  return quotaExceeded(
    `the secrets of the token and of those above it have ${bytes} bytes; a run receives at most ${MAX_VALUE_BYTES}`,
    "Set fewer secrets for one of them with PUT /api/tokens/{jti}/secrets.",
  );
}

/** Returns whether a token may have secrets: unpinned code could read them. */
export function mayHaveSecrets({ code, secretsReadable }: Pick<Claims, "code" | "secretsReadable">): boolean {
  return code !== null || secretsReadable;
}
