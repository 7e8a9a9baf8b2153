import { Problem } from "../../errors.ts";
import type { MemberFault } from "../../members.ts";
import type { Claims } from "../claims.ts";
import { quotaExceeded } from "../family-quota.ts";
import { LEEWAY_S } from "../format.ts";
import type { SecretKey } from "./key.ts";
import type { SecretStore } from "./store.ts";

/** Secrets by their names. */
export type Secrets = Readonly<Record<string, string>>;

/** What one run is told of secrets. */
export interface RunSecrets {
  /** All of them by their names, as JSON. */
  readonly json: string;
  readonly names: readonly string[];
  readonly values: readonly string[];
  /** Another one after each change of them. It says nothing about them. */
  readonly version: string;
  /** The topmost token of the family: memory that holds these secrets counts for it. */
  readonly family: string;
}

/** Of a token, what its secrets hang on. */
export type Owner = Pick<Claims, "jti" | "parents" | "exp">;

/** Of a token, what those below it inherit of what their code is told. */
export type Above = Owner & Pick<Claims, "params">;

/** What a token's code is to be told. Of secrets only the names are looked at. */
interface Given {
  readonly secrets: Readonly<Record<string, unknown>>;
  readonly params: Claims["params"];
}

/**
 * The bytes of all values that one run is told, those that are inherited among them: each run is sent them, and all that it
 * logs is searched for them.
 */
export const MAX_VALUE_BYTES: number = 64 * 2 ** 10;

/** The secrets of tokens: encrypted under the `jti`, and plain for a run alone. */
export class Vault {
  readonly #store: SecretStore;
  readonly #key: SecretKey;
  readonly #nowMs: () => number;
  readonly #familyBytes: number;

  /** @param familyBytes how many bytes of secrets, as they are kept, a token and all below it may have. */
  constructor(store: SecretStore, key: SecretKey, nowMs: () => number, familyBytes: number = Infinity) {
    this.#store = store;
    this.#key = key;
    this.#nowMs = nowMs;
    this.#familyBytes = familyBytes;
  }

  /**
   * Gives a token these in place of those that it had.
   *
   * @throws {Problem} `quota_exceeded` when its family has no room for them, `store_unavailable` when they cannot be kept.
   */
  async set({ jti, parents, exp }: Owner, secrets: Secrets): Promise<void> {
    if (Object.keys(secrets).length === 0) return this.#store.remove(jti, parents, { below: false });
    const sealed = this.#key.seal(jti, JSON.stringify(secrets));
    const forgetAt = exp === null ? null : (exp + LEEWAY_S) * 1_000;
    const isKept = await this.#store.put({ jti, parents, sealed, forgetAt }, this.#nowMs(), this.#familyBytes);
    if (isKept) return;
    const most = `the token and those below the topmost one may keep ${this.#familyBytes} bytes of secrets`;
    throw quotaExceeded(
      `${most}, and these would be more`,
      "They are counted as they are kept, encrypted, which takes a third more. Set fewer for another token of the family; " +
        "the operator sets the number with --family-secrets.",
    );
  }

  /**
   * The fault of secrets that are too many to be told to one run, together with those that are inherited.
   *
   * @param above the token from which they are inherited, or null
   * @throws {Problem} `store_unavailable`
   */
  async faultsOfSize(above: Owner | null, secrets: Secrets): Promise<MemberFault[]> {
    const values = Object.values(secrets);
    if (values.length === 0) return [];
    const own = bytesOf(values);
    const bytes = own + (above === null ? 0 : bytesOf((await this.of(above))?.values ?? []));
    if (bytes <= MAX_VALUE_BYTES) return [];
    const inherited = bytes === own ? "" : `, ${bytes - own} of them inherited`;
    const detail = `have ${bytes} bytes${inherited}; at most ${MAX_VALUE_BYTES} are told to a run`;
    return [{ member: "secrets", detail }];
  }

  /**
   * What a token and those above it have; of one name, what the highest has. At once where they are kept here.
   *
   * @returns null when there are none.
   * @throws {Problem} `store_unavailable`, thrown or as a rejection, when they cannot be read.
   */
  of({ jti, parents }: Owner): RunSecrets | null | Promise<RunSecrets | null> {
    const found = this.#store.get(jti, parents);
    const read = (sealed: readonly (string | null)[]): RunSecrets | null => this.#read([jti, ...parents], sealed);
    return found instanceof Promise ? found.then(read) : read(found);
  }

  /** What it has itself, without those above it. @throws {Problem} `store_unavailable` */
  async own({ jti, parents }: Owner): Promise<Secrets> {
    const [sealed] = await this.#store.get(jti, parents);
    return sealed ? this.#open(jti, sealed) : {};
  }

  /**
   * What a token has given its code is the same for all below it. The `env` of a fetch handler has params and secrets side by
   * side, so that neither takes the name of one of the other.
   *
   * @returns a fault for each name that is taken.
   * @throws {Problem} `store_unavailable`
   */
  async overriding(above: Above, { secrets, params }: Given): Promise<MemberFault[]> {
    // Those that are inherited are among them.
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
    return members.map((member) => ({ member, detail: "is inherited as it is; leave it out" }));
  }

  /** Forgets what a token has, and all below it: it has ended. @throws {Problem} `store_unavailable` */
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
      // Its nonce, which no other has.
      version += `${text.slice(0, VERSION_CHARS)} `;
    }
    if (version === "") return null;
    const values = Object.values(all);
    // Not found where they are set: a token above may be given more after those below it have theirs.
    if (bytesOf(values) > MAX_VALUE_BYTES) throw tooMany(bytesOf(values));
    return { json: JSON.stringify(all), names: Object.keys(all), values, version, family: jtis.at(-1)! };
  }

  #open(jti: string, sealed: string): Secrets {
    try {
      return JSON.parse(this.#key.open(jti, sealed)) as Secrets;
    } catch (error) {
      const detail = "the secrets of the token cannot be read: they were kept under another key, or are damaged";
      throw new Problem("store_unavailable", detail, {
        hint: "Whoever runs the service gives all its nodes one --secrets-key, or sets the secrets anew.",
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
    `the secrets of the token and of those above it have ${bytes} bytes; at most ${MAX_VALUE_BYTES} are told to a run`,
    "Set fewer for one of them with PUT /api/tokens/{jti}/secrets.",
  );
}

/** Whether a token may have secrets: code that others choose could read them. */
export function mayHaveSecrets({ code, secretsReadable }: Pick<Claims, "code" | "secretsReadable">): boolean {
  return code !== null || secretsReadable;
}
