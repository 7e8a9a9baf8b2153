/** The only algorithm, so that a token cannot choose a weaker one (RFC 8725, section 3.1). */
export const ALGORITHM = "EdDSA";
/** The explicit type, so that no other kind of JWT with the same key is accepted as a token (RFC 8725, section 3.11). */
export const TYPE = "caisson+jwt";
export const ISSUER = "caisson";
export const AUDIENCE = "caisson";

/** The maximum length of a token. The service rejects longer forged tokens by their length alone. */
export const MAX_TOKEN_BYTES = 8_192;

/** An Ed25519 signature, 64 bytes, in base64url. */
export const SIGNATURE_CHARS = 86;

/** How far the clocks of two nodes may differ in the check of `exp` and `nbf`, in seconds. */
export const LEEWAY_S = 5;

/** The maximum number of generations below an administrator's token. Each run counts against, and looks up, all tokens above. */
export const MAX_DEPTH = 4;

/** The last second of the year 9999. A later time was set in milliseconds by mistake. */
export const MAX_UNIX_S = 253_402_300_799;
