import { Argument, Command } from "commander";

import type { Caisson, LimitState } from "../../client/src/index.ts";
import { ConfigError } from "../config/read.ts";
import { limits } from "../config/values.ts";
import { isJti } from "../tokens/claims.ts";
import { UsageError } from "./exits.ts";
import { limitsCommandMeant } from "./limit-words.ts";
import { fields, table } from "./print/table.ts";
import { limitsText } from "./print/texts.ts";
import { name, remote } from "./remote.ts";
import { repairCommand } from "./repair.ts";

/** The limits with `?detail=true`. */
type Detail = Exclude<LimitState, { readonly second: number }>;

export function limitsCommand(): Command {
  return new Command("limits")
    .description("read and change the counts and limits of a service")
    .addCommand(showCommand())
    .addCommand(setCommand())
    .addCommand(resetCommand())
    .addCommand(repairCommand())
    .showHelpAfterError("The commands are show, set, reset and repair.");
}

function showCommand(): Command {
  const command = limitsVerb("show", "print what is allowed, used and left in each window");
  const examples = ["limits show container acme", "limits show token 9b2f7c1e-4a1d-4f6e-8a55-1f0f6d3e5a55"];
  return remote(command, examples, async ({ caisson, print }, kind, of) => {
    const detail = await detailOf(caisson, kind, of);
    print(detail, () => detailText(detail));
  });
}

function resetCommand(): Command {
  const command = limitsVerb("reset", "reset the use of all six windows");
  const examples = ["limits reset container acme", "limits reset token 9b2f7c1e-4a1d-4f6e-8a55-1f0f6d3e5a55"];
  return remote(command, examples, async ({ caisson, print }, kind, of) => {
    await (kind === "container" ? caisson.limits.resetContainer(of) : caisson.limits.resetToken(of));
    const detail = await detailOf(caisson, kind, of);
    print(detail, () => detailText(detail));
  });
}

function detailOf({ limits: service }: Caisson, kind: string, of: string): Promise<Detail> {
  if (kind === "token" && !isJti(of)) {
    throw new UsageError(
      `${JSON.stringify(of)} is not the jti of a token, a UUID in lower case; caisson tokens list prints it`,
    );
  }
  return kind === "container" ? service.getContainer(of, { detail: true }) : service.getToken(of, { detail: true });
}

function limitsVerb(verb: string, description: string): Command {
  return new Command(verb)
    .description(description)
    .addArgument(new Argument("<kind>", "the kind of limit").choices(["container", "token"]))
    .argument("<name>", "the container, or the jti of the token", name)
    .showHelpAfterError(`The form is: caisson limits ${verb} container acme, or: caisson limits ${verb} token <jti>`);
}

/**
 * Replaces the whole policy, as the `PUT` that it sends. A window that is not named then has no limit of the container.
 */
function setCommand(): Command {
  const command = new Command("set")
    .description("set the limits of a container, which replace the previous ones")
    .addArgument(new Argument("<kind>", "the kind of limit").choices(["container"]))
    .argument("<name>", "the container", name)
    .argument("[window=runs...]", "such as minute=60 day=1000")
    .option("--none", "remove all limits of the container")
    .showHelpAfterError("The form is: caisson limits set container acme minute=60 day=1000, or with --none");
  const examples = ["limits set container acme minute=60 day=1000", "limits set container acme --none"];
  return remote<{ none?: true }>(command, examples, async (call, _, container, windows) => {
    const { flags, print } = call;
    const texts = (windows ?? []) as unknown as readonly string[];
    mustBeMeant(texts, flags.none === true);
    const wanted = readLimits(command, texts);
    const policy = await call.caisson.containers.set(container, { limits: wanted });
    print(policy, () =>
      fields([
        ["container", container],
        ["limits", limitsText(policy.limits)],
      ]),
    );
  });
}

/** @throws {ConfigError} */
function readLimits(command: Command, texts: readonly string[]): ReturnType<typeof limits> {
  try {
    return limits(texts);
  } catch (error) {
    const other = texts.find((text) => !text.includes("="));
    const fact =
      other === undefined
        ? (error as Error).message.replace(/; a file has a list: .*$/, "")
        : `${JSON.stringify(other)} is not window=runs, such as minute=60`;
    const meant = limitsCommandMeant(command);
    const fix = meant === null ? "--none removes all limits of the container" : `did you mean ${meant}?`;
    throw new ConfigError(`${fact}; ${fix}`, { cause: error });
  }
}

/** A forgotten limit, or an empty variable in a script, must not open the container. @throws {ConfigError} */
function mustBeMeant(windows: readonly string[], none: boolean): void {
  if (windows.length === 0 && !none) {
    throw new ConfigError("name at least one limit, such as minute=60; --none removes all limits of the container");
  }
  if (windows.length > 0 && none) throw new ConfigError("--none and limits exclude each other");
}

function detailText(detail: Detail): string {
  const columns = [
    { head: "window" },
    { head: "limit", align: "right" },
    { head: "used", align: "right" },
    { head: "left", align: "right" },
    { head: "more in", align: "right" },
    { head: "set by" },
  ] as const;
  const rows = Object.entries(detail).map(([window, { limit, remaining, used, resetSeconds, setBy, jti }]) => {
    const wait = resetSeconds ? `${resetSeconds} s` : "";
    const origin = jti === undefined ? (setBy ?? "") : `${setBy} ${jti}`;
    return [window, limit ?? "-", used, remaining ?? "-", wait, origin].map(String);
  });
  return table(columns, rows);
}
