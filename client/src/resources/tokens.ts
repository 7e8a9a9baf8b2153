import type {
  Introspection,
  IssuedToken,
  ReplacedSecrets,
  RevokedToken,
  Routes,
  Secrets,
  Token,
  TokenPage,
  TokenRequest,
} from "../api-types.ts";
import { List } from "../list.ts";
import { mustBeObject } from "../options.ts";
import { nameOthers } from "../other-methods.ts";
import type { Parameters, RequestOptions, Transport } from "../transport.ts";

export class Tokens {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Lists tokens: all for administrators, otherwise those below the token. Needs the verb `issue`. */
  list(query: Routes["GET /api/tokens"]["query"] = {}, options: RequestOptions = {}): List<Token, TokenPage> {
    return new List(
      (cursor) => this.#transport.json("GET /api/tokens", { query: { ...query, cursor } }, options),
      ({ tokens }) => tokens,
      query.cursor,
    );
  }

  /** Issues a token. Only this answer contains the credential. Needs the verb `issue`. */
  issue(request: TokenRequest, options: RequestOptions = {}): Promise<IssuedToken> {
    return this.#transport.json(
      "POST /api/tokens",
      { json: mustBeObject(request, '{ containers: ["acme"] }') },
      options,
    );
  }

  /** Returns what is known of a token. */
  get(jti: string, options: RequestOptions = {}): Promise<Token> {
    return this.#transport.json("GET /api/tokens/{jti}", { path: { jti } }, options);
  }

  /** Revokes a token and all tokens below it. */
  revoke(jti: string, options: RequestOptions = {}): Promise<RevokedToken> {
    return this.#transport.json("DELETE /api/tokens/{jti}", { path: { jti } }, options);
  }

  /** Returns the claims of a credential (RFC 7662). Without one: of that of the client. */
  async introspect(token?: string, options: RequestOptions = {}): Promise<Introspection> {
    const body = new URLSearchParams({ token: token ?? (await this.#transport.token()) ?? "" });
    return this.#transport.json("POST /api/tokens/introspect", { body } satisfies Parameters, options);
  }

  /** Replaces the secrets of a token. */
  replaceSecrets(jti: string, secrets: Secrets, options: RequestOptions = {}): Promise<ReplacedSecrets> {
    return this.#transport.json(
      "PUT /api/tokens/{jti}/secrets",
      { path: { jti }, json: mustBeObject(secrets, '{ API_KEY: "value" }') },
      options,
    );
  }
}

nameOthers(Tokens.prototype, {
  "create add": 'write issue({ containers: ["acme"] })',
  "delete remove": "write revoke(jti)",
});
