import { Argument, Command } from "commander";

import { limits } from "../config/values.ts";
import { administer } from "./administer.ts";
import { fail } from "./fail.ts";
import { repairCommand } from "./repair.ts";
import { addSettings, settingsOf } from "./settings.ts";

/** One window as `?detail=true` tells it. */
interface WindowDetail {
  readonly limit: number | null;
  readonly remaining: number | null;
  readonly used: number;
  readonly resetSeconds: number | null;
}

/** What says where the service listens, and where its administrative token is. */
const PLACE = ["host", "port", "data", "tlsCert", "tlsKey", "trustProxy", "insecureHttp"] as const;

const HEAD = ["window", "limit", "used", "left", "more in"];

export function limitsCommand(): Command {
  const command = new Command("limits").description("what a running service counts and allows");
  command.addCommand(ask("show", "GET", "what is allowed, used and left in each window"));
  command.addCommand(setCommand());
  command.addCommand(ask("reset", "DELETE", "set the use of all six windows back to nothing"));
  command.addCommand(repairCommand());
  return command;
}

function ask(verb: string, method: string, description: string): Command {
  const command = new Command(verb)
    .description(`${description}; asks the service that listens where these settings say`)
    .addArgument(new Argument("<kind>", "what is limited").choices(["container", "token"]))
    .argument("<name>", "the container, or the jti of the token")
    .option("--json", "print the answer as the service gives it");
  addSettings(command, PLACE);
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

/** The whole policy is replaced, as by the `PUT` that it sends: what is not named has no limit of the container's own. */
function setCommand(): Command {
  const command = new Command("set")
    .description("set the limits of a container, in place of those it had; asks the service that listens there")
    .addArgument(new Argument("<kind>", "what is limited").choices(["container"]))
    .argument("<name>", "the container")
    .argument("[window=runs...]", "such as minute=60 day=1000; none takes all limits of the container away");
  addSettings(command, PLACE);
  return command.action(async (kind: string, name: string, given: readonly string[]) => {
    try {
      const target = `/api/${kind}s/${encodeURIComponent(name)}`;
      const policy = await administer(settingsOf(command), "PUT", target, { limits: limits(given) });
      process.stdout.write(`${JSON.stringify(policy)}\n`);
    } catch (error) {
      fail(error);
    }
  });
}

function table(detail: Readonly<Record<string, WindowDetail>>): string {
  const rows = Object.entries(detail).map(([window, { limit, remaining, used, resetSeconds }]) => {
    const wait = resetSeconds ? `${resetSeconds} s` : "";
    return [window, limit ?? "-", used, remaining ?? "-", wait].map(String);
  });
  const widths = HEAD.map((head, column) => Math.max(head.length, ...rows.map((row) => row[column]!.length)));
  const lines = [HEAD, ...rows].map((row) => {
    const cells = row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)));
    return `${cells.join("  ").trimEnd()}\n`;
  });
  return lines.join("");
}
