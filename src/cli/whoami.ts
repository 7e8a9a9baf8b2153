import { Command } from "commander";

import { type Caisson, CaissonError, type Introspection } from "../../client/src/index.ts";
import { askHealth } from "./health.ts";
import { fields } from "./print/table.ts";
import { endText, limitsText } from "./print/texts.ts";
import { remote } from "./remote.ts";
import { readProfiles } from "./target/profiles.ts";
import { tokenOfEnvironment } from "./target/token.ts";

/** What `whoami` prints of the claims of a token. */
interface Identity {
  readonly jti: string;
  readonly admin: boolean;
  readonly containers: readonly string[];
  readonly can: readonly string[];
  readonly exp: number | null;
  readonly description: string | null;
  readonly limits: { readonly container?: Record<string, number>; readonly token?: Record<string, number> };
}

export function whoamiCommand(): Command {
  const command = new Command("whoami").description(
    "print which service the commands talk to, and what the token permits",
  );
  const examples = ["whoami", "whoami --profile staging --json"];
  return remote(command, examples, async ({ caisson, target, print }) => {
    const identity = await identify(caisson);
    const { version, isolation } = await askHealth(target);
    const { url, profile, origin } = target;
    const isOfShell = tokenOfEnvironment() !== undefined;
    const others = Object.keys(readProfiles().profiles).filter((name) => name !== profile);
    const answer = { url, profile, version, isolation, ...identity, otherProfiles: others };
    print(answer, () =>
      fields([
        ["service", `${url}${origin === "local" ? " (the service of this machine)" : ""}`],
        ["version", `${version}, isolation ${isolation}`],
        ["profile", profile],
        ["other profiles", others.length === 0 ? null : others.join(", ")],
        ["token", `${identity.jti}${isOfShell ? " (of CAISSON_TOKEN)" : ""}`],
        ...permissions(identity),
      ]),
    );
  });
}

/** Returns the claims of the token. @throws {CaissonError} if the service does not accept it. */
export async function identify(caisson: Caisson): Promise<Identity> {
  const claims: Introspection = await caisson.tokens.introspect();
  if (!claims.active)
    throw new CaissonError({ code: "token_invalid", detail: "the service does not accept the token" });
  const { jti, admin, containers, can, exp, description, limits } = claims as unknown as Identity;
  return { jti, admin, containers, can, exp: exp ?? null, description: description ?? null, limits: limits ?? {} };
}

/** Returns what a token permits, for `fields`. */
export function permissions(identity: Identity): [string, string | null][] {
  const { admin, containers, can, exp, description, limits } = identity;
  return [
    ["permits", admin ? "everything: it is administrative" : permitText(can, containers)],
    ["expires", endText(exp)],
    ["limits of the token", limits.token ? limitsText(limits.token) : null],
    ["limits of the container", limits.container ? limitsText(limits.container) : null],
    ["description", description],
  ];
}

/** @returns such as `run, limits in acme` */
export function permitText(can: readonly string[], containers: readonly string[]): string {
  return `${can.join(", ")} in ${containers.join(", ")}`;
}
