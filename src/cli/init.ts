import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";

import { Command, Option } from "commander";

import { isName } from "../http/target.ts";
import { TASKS_FOLDER } from "./deploy/project.ts";
import { addExamples } from "./examples.ts";
import { UsageError } from "./exits.ts";
import { fail } from "./fail.ts";
import { printableJson } from "./print/printable.ts";
import { say } from "./print/say.ts";
import { readProfiles } from "./target/profiles.ts";
import { PROJECT_FILE, readProjectFile } from "./target/project-file.ts";
import { readUrl } from "./target/target.ts";

interface InitFlags {
  readonly container?: string;
  readonly url?: string;
  readonly profile?: string;
  readonly json?: true;
}

const TASK = `interface Context {
  readonly query: Readonly<Record<string, string>>;
}

export default async function hello({ query }: Context) {
  const name = query.name ?? "world";
  console.log("greeting", name);
  return { greeting: \`Hello, \${name}!\` };
}
`;

export function initCommand(): Command {
  const command = new Command("init")
    .description("write a caisson.json and a first task for caisson deploy; existing files stay as they are")
    .argument("[folder]", "the folder of the project", ".")
    .option("--container <name>", "the container; default: the name of the folder")
    .option("--url <url>", "the service; default: that of the profile in use")
    .option("--profile <name>", "the profile whose service the project uses")
    .addOption(new Option("--json", "print JSON for programs"));
  addExamples(command, ["init", "init webhooks --container acme"]);
  return command.action((folder: string) => {
    try {
      init(folder, command.opts<InitFlags>());
    } catch (error) {
      fail(error);
    }
  });
}

function init(folder: string, flags: InitFlags): void {
  const container = flags.container ?? containerName(path.basename(path.resolve(folder)));
  if (!isName(container))
    throw new UsageError(
      `--container ${JSON.stringify(container)}: a name has letters, digits and _ . @ -, such as ${containerName(container)}`,
    );
  const url = urlFor(flags);
  const project = { ...(url !== null && { url }), container };
  const written = [
    write(path.join(folder, PROJECT_FILE), `${JSON.stringify(project, null, 2)}\n`),
    write(path.join(folder, TASKS_FOLDER, "hello.ts"), TASK),
  ].filter((file) => file !== null);
  if (flags.json) return void process.stdout.write(`${printableJson({ container, url, written })}\n`);
  say(written.length === 0 ? "everything exists already; nothing was written" : `wrote ${written.join(", ")}`);
  const kept = written.includes(path.join(folder, PROJECT_FILE)) ? null : readProjectFile(folder)?.["container"];
  if (typeof kept === "string" && kept !== container)
    say(`${path.join(folder, PROJECT_FILE)} keeps the container ${kept}; edit it for another one`);
  const where = path.relative(".", folder);
  say(`next: caisson deploy${where === "" ? "" : ` ${where}`}`);
}

function urlFor({ url, profile }: InitFlags): string | null {
  if (url !== undefined) return readUrl(url, "--url");
  const { current, profiles } = readProfiles();
  const name = profile ?? current;
  if (name === null) return null;
  if (!Object.hasOwn(profiles, name)) throw new UsageError(`--profile: there is no profile ${JSON.stringify(name)}`);
  return profiles[name]!.url;
}

/** Returns a valid name of a container that is like the name of the folder. */
function containerName(folder: string): string {
  return (
    folder
      .replaceAll(/[^\w.@-]/g, "-")
      .replace(/^[^\w]+/, "")
      .slice(0, 128) || "demo"
  );
}

/** @returns the file, or null if it exists already */
function write(file: string, content: string): string | null {
  try {
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, content, { flag: "wx" });
    return file;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // mkdir reports EEXIST too, for a file where the folder would be.
    if (code === "EEXIST" && existsSync(file)) return null;
    throw new UsageError(`${file} cannot be written: ${whyNot(error as NodeJS.ErrnoException, file)}`, {
      cause: error,
    });
  }
}

function whyNot({ code, message }: NodeJS.ErrnoException, file: string): string {
  if (code !== "ENOTDIR" && code !== "EEXIST") return message;
  let folder = path.dirname(file);
  while (!existsSync(folder)) folder = path.dirname(folder);
  return statSync(folder).isDirectory() ? message : `${folder} is a file, and init takes a folder; give another name`;
}
