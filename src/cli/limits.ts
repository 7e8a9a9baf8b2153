import { Argument, Command } from "commander";

import { ConfigError } from "../config/read.ts";
import { limits } from "../config/values.ts";
import { administer } from "./administer.ts";
import { fail } from "./fail.ts";
import { repairCommand } from "./repair.ts";
import { addSettings, settingsOf } from "./settings.ts";

/** A window in the answer to `?detail=true`. */
interface WindowDetail {
  readonly limit: number | null;
  readonly remaining: number | null;
  readonly used: number;
  readonly resetSeconds: number | null;
  readonly setBy: string | null;
  readonly jti?: string;
}

/** The settings for the address of the service and for its administrative token. */
const SERVICE_SETTINGS = ["host", "port", "data", "tlsCert", "tlsKey", "trustProxy", "insecureHttp"] as const;

/** The columns that are texts. */
const LEFT = new Set([0, 5]);
const HEAD = ["window", "limit", "used", "left", "more in", "set by"];

export function limitsCommand(): Command {
  const command = new Command("limits").description("read and change the counts and limits of a running service");
  command.addCommand(ask("show", "GET", "print what is allowed, used and left in each window"));
  command.addCommand(setCommand());
  command.addCommand(ask("reset", "DELETE", "reset the use of all six windows"));
  command.addCommand(repairCommand());
  return command.showHelpAfterError("The commands are show, set, reset and repair.");
}

function ask(verb: string, method: string, description: string): Command {
  const command = new Command(verb)
    .description(`${description}, at the service of these settings`)
    .addArgument(new Argument("<kind>", "the kind of limit").choices(["container", "token"]))
    .argument("<name>", "the container, or the jti of the token")
    .option("--json", "print the answer of the service");
  addSettings(command, SERVICE_SETTINGS);
  command.showHelpAfterError(
    `The form is: caisson limits ${verb} container acme, or: caisson limits ${verb} token <jti>`,
  );
  return command.action(async (kind: string, name: string) => {
    try {
      const target = `/api/limits/${kind}/${encodeURIComponent(name)}?detail=true`;
      const detail = (await administer(settingsOf(command), method, target)) as Record<string, WindowDetail>;
      const { json } = command.opts<{ json?: true }>();
      process.stdout.write(json ? `${JSON.stringify(detail, null, 2)}\n` : table(detail));
    } catch (error) {
      fail(error);
    }
  });
}

/**
 * Replaces the whole policy, as the `PUT` that it sends. A window that is not named then has no limit of the container.
 */
function setCommand(): Command {
  const command = new Command("set")
    .description("set the limits of a container, which replace the previous ones, at the service of these settings")
    .addArgument(new Argument("<kind>", "the kind of limit").choices(["container"]))
    .argument("<name>", "the container")
    .argument("[window=runs...]", "such as minute=60 day=1000")
    .option("--none", "remove all limits of the container")
    .showHelpAfterError("The form is: caisson limits set container acme minute=60 day=1000, or with --none");
  addSettings(command, SERVICE_SETTINGS);
  return command.action(async (kind: string, name: string, windows: readonly string[]) => {
    try {
      mustBeMeant(windows, command.opts<{ none?: true }>().none === true);
      const target = `/api/${kind}s/${encodeURIComponent(name)}`;
      const policy = await administer(settingsOf(command), "PUT", target, { limits: limits(windows) });
      process.stdout.write(`${JSON.stringify(policy)}\n`);
    } catch (error) {
      fail(error);
    }
  });
}

/** A forgotten limit, or an empty variable in a script, must not open the container. @throws {ConfigError} */
function mustBeMeant(windows: readonly string[], none: boolean): void {
  if (windows.length === 0 && !none) {
    throw new ConfigError("name at least one limit, such as minute=60; --none removes all limits of the container");
  }
  if (windows.length > 0 && none) throw new ConfigError("--none and limits exclude each other");
}

function table(detail: Readonly<Record<string, WindowDetail>>): string {
  const rows = Object.entries(detail).map(([window, { limit, remaining, used, resetSeconds, setBy, jti }]) => {
    const wait = resetSeconds ? `${resetSeconds} s` : "";
    const origin = jti === undefined ? (setBy ?? "") : `${setBy} ${jti}`;
    return [window, limit ?? "-", used, remaining ?? "-", wait, origin].map(String);
  });
  const widths = HEAD.map((head, column) => Math.max(head.length, ...rows.map((row) => row[column]!.length)));
  const lines = [HEAD, ...rows].map((row) => {
    const cells = row.map((cell, column) =>
      LEFT.has(column) ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!),
    );
    return `${cells.join("  ").trimEnd()}\n`;
  });
  return lines.join("");
}
