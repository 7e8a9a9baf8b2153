import { Problem } from "../errors.ts";
import { readPrivate, writePrivate } from "./private-file.ts";
import type { Tokens } from "./token-service.ts";

/**
 * Ensures that the file contains a valid administrative token, in one line, readable only by its owner.
 *
 * An invalid token (revoked, expired, signed with unknown keys, damaged) is replaced and does not stop the start. The service
 * must start after a reboot even if its first token was revoked, and the commands that read the file must work. This gives
 * away nothing: a reader of this folder can read the signing keys too.
 *
 * @returns whether the token was created by this call.
 * @throws {Error} when other users can read the file or it cannot be read. The message contains the fix.
 */
export async function ensureAdminToken(file: string, tokens: Pick<Tokens, "verifier" | "issue">): Promise<boolean> {
  const text = await readPrivate(file);
  if (text !== undefined && (await isAdministrative(text.trim(), tokens))) return false;
  const { token } = await tokens.issue({ admin: true, exp: null }, "start of the service");
  await writePrivate(file, `${token}\n`, { replace: true });
  return true;
}

async function isAdministrative(token: string, { verifier }: Pick<Tokens, "verifier">): Promise<boolean> {
  try {
    const { claims } = await verifier.verify(token);
    return claims.admin;
  } catch (error) {
    if (error instanceof Problem && error.code === "token_invalid") return false;
    throw error;
  }
}
