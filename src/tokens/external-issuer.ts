import { Problem } from "../errors.ts";
import type { Claims, Verb } from "./claims.ts";
import { ISSUER } from "./format.ts";
import { KeySet, type VerifyingKey } from "./key-set.ts";
import { claimsOf } from "./payload.ts";
import { readPublicKeyFile } from "./public-key-file.ts";
import type { TokenRegister } from "./register.ts";

/** What tokens that were signed elsewhere may do at the most. Whatever they could leave behind would outlive them. */
const VERBS: ReadonlySet<Verb> = new Set(["run", "limits", "logs"]);

/** What they may say. Whatever else a token of the service can say is the service's own affair, or may be one that narrows. */
const CLAIMS: ReadonlySet<string> = new Set(
  "iss aud jti iat exp nbf containers can limits net code params fresh selfRevoke".split(" "),
);

/**
 * Somebody else whose tokens are taken, by the keys that a file has of him: nothing is asked over the network.
 *
 * He is trusted with what tokens in general can do, and not with the service itself: his tokens are no administrators,
 * issue none and are below none, and are not taken for one that was issued here.
 */
export class ExternalIssuer {
  /** As it stands in `iss`. */
  readonly url: string;
  readonly file: string;
  readonly keys: KeySet<VerifyingKey>;

  /** @throws {Error} as `readPublicKeyFile` does. */
  static async open(url: string, file: string): Promise<ExternalIssuer> {
    return new ExternalIssuer(url, file, await readPublicKeyFile(file));
  }

  private constructor(url: string, file: string, keys: readonly VerifyingKey[]) {
    this.url = url;
    this.file = file;
    this.keys = new KeySet(keys);
  }

  /** Takes what the file has now. @throws {Error} as `open` does, and then nothing has changed. */
  async reload(): Promise<void> {
    this.keys.replace(await readPublicKeyFile(this.file));
  }

  /**
   * The claims of a set that the issuer has signed.
   *
   * @throws {Problem} `token_invalid` when he may not say that, `store_unavailable` when that is not known.
   * @throws {Error} when it is no claims set.
   */
  async claimsOf(payload: object, register: Pick<TokenRegister, "issued">): Promise<Claims> {
    const claims = claimsOf({ ...payload, iss: ISSUER });
    if (claims.admin) throw refused("is administrative, which only those of this service can be");
    if (claims.parents.length > 0) throw refused("says that it descends from another");
    if (claims.depth > 0 || claims.can.some((verb) => !VERBS.has(verb))) {
      throw refused(`may do more than ${[...VERBS].join(", ")}`);
    }
    const other = Object.keys(payload).find((name) => !CLAIMS.has(name));
    if (other !== undefined) throw refused(`has the claim ${other}, which only those of this service can have`);
    // With its name it would have its counts, its record and its secrets, and could revoke it.
    if (await register.issued(claims.jti)) throw refused("has the jti of one that was issued here");
    return claims;
  }
}

function refused(what: string): Problem {
  return new Problem("token_invalid", `the token was signed elsewhere and ${what}`, {
    hint: "Ask whoever has signed it for one that does not.",
  });
}
