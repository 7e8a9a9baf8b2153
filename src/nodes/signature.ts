import { type JWTPayload, jwtVerify, type JWTVerifyOptions, SignJWT } from "jose";

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
  const secretOf = ({ kid = "" }: { kid?: string }): Uint8Array => {
    const key = keys.held.get(kid);
    if (!key) throw new Error("the key of the signature is unknown here");
    return key.nodeSecret;
  };
  const expected = { ...options, algorithms: [ALGORITHM], issuer: ISSUER, typ: type };
  return (await jwtVerify(text, secretOf, expected)).payload;
}
