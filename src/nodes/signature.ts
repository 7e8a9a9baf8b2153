import { createHmac, timingSafeEqual } from "node:crypto";

import { decodeProtectedHeader, type JWTPayload, jwtVerify, type JWTVerifyOptions, SignJWT } from "jose";

/**
 * Tokens have another algorithm, another type and another key, so no text is valid as both (RFC 8725, sections 3.1 and 3.11).
 */
const ALGORITHM = "HS256";
const ISSUER = "caisson-node";

/** The keys that the nodes of one service share. */
export interface SharedKeys {
  readonly signing: { readonly kid: string; readonly nodeSecret: Uint8Array };
  readonly held: { get(kid: string): { readonly nodeSecret: Uint8Array } | undefined };
}

/** Signs claims, so that the other nodes recognize that they come from a node. @param type the purpose of the claims */
export async function signAsNode(keys: SharedKeys, type: string, claims: JWTPayload): Promise<string> {
  const { kid, nodeSecret } = keys.signing;
  return await new SignJWT({ ...claims, iss: ISSUER })
    .setProtectedHeader({ alg: ALGORITHM, typ: type, kid })
    .sign(nodeSecret);
}

/** Returns the claims that a node signed for this purpose. @throws {Error} for any other text */
export async function verifyFromNode(
  keys: SharedKeys,
  type: string,
  text: string,
  options: JWTVerifyOptions = {},
): Promise<JWTPayload> {
  const secret = keys.held.get(decodeProtectedHeader(text).kid ?? "")?.nodeSecret;
  // Checked here first, because the library takes five times as long. So strangers cause no work that needs a limit.
  if (!secret || !isSignedWith(secret, text)) throw new Error("the signature is not of a node with these keys");
  const expected = { ...options, algorithms: [ALGORITHM], issuer: ISSUER, typ: type };
  return (await jwtVerify(text, secret, expected)).payload;
}

function isSignedWith(secret: Uint8Array, text: string): boolean {
  const at = text.lastIndexOf(".");
  const signature = Buffer.from(text.slice(at + 1), "base64url");
  const expected = createHmac("sha256", secret).update(text.slice(0, at)).digest();
  return signature.length === expected.length && timingSafeEqual(signature, expected);
}
