/** The one algorithm, so that a token cannot choose a weaker one (RFC 8725, section 3.1). */
export const ALGORITHM = "EdDSA";
/** Explicit typing: no other kind of JWT signed by the same key is taken for a token (RFC 8725, section 3.11). */
export const TYPE = "caisson+jwt";
export const ISSUER = "caisson";
export const AUDIENCE = "caisson";

/** The longest token made or read, so that forged ones cost no more than a look at their length. */
export const MAX_TOKEN_BYTES = 8_192;

/** An Ed25519 signature, 64 bytes, in base64url. */
export const SIGNATURE_CHARS = 86;

/** How far the clocks of two nodes may differ before `exp` and `nbf` are seen differently, in seconds. */
export const LEEWAY_S = 5;

/** Generations below a token of an administrator: each run is counted against all above it, and each is looked up. */
export const MAX_DEPTH = 4;

/** The last second of the year 9999. What lies after it was given in milliseconds by mistake. */
export const MAX_UNIX_S = 253_402_300_799;
