import { Problem } from "../errors.ts";
import { readPrivate, writePrivate } from "./private-file.ts";
import type { Tokens } from "./token-service.ts";

/**
 * Sees to it that the file holds an administrative token that is valid, in one line, for its owner only.
 *
 * One that is not valid any more (revoked, expired, of other keys, damaged) is replaced and does not stop the start: a
 * service must not stay down after a reboot because its first token was revoked, and the commands that read the file
 * must work. Nothing is given away: whoever reads this folder reads the signing keys too.
 *
 * @returns whether the token was made now.
 * @throws {Error} when the file is open to others or cannot be read: it says how to mend that.
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
