import { type Command, InvalidArgumentError, Option } from "commander";

import { Caisson, CaissonError } from "../../client/src/index.ts";
import type { Config } from "../config.ts";
import { addExamples } from "./examples.ts";
import { commandsIn, fail } from "./fail.ts";
import { printableJson, printableLines } from "./print/printable.ts";
import { say } from "./print/say.ts";
import { addSettings, settingsOf } from "./settings.ts";
import { chooseTarget, LOCAL_SETTINGS, type Target, type TargetRequest } from "./target/target.ts";

/** The settings for the address of the service of this machine, and for its administrative token. */
const SERVICE_SETTINGS = [...LOCAL_SETTINGS, "trustProxy", "insecureHttp"] as const;

/** Different hints that one command prints. */
const MAX_HINTS = 10;

/** The flags of every command that talks to a service. */
interface RemoteFlags {
  readonly url?: string;
  readonly profile?: string;
  readonly json?: true;
  readonly insecureHttp?: true;
}

/** What a command that talks to a service works with. */
export class Remote<Flags = object> {
  readonly flags: Flags;
  /** Whether the output is for programs. */
  readonly json: boolean;
  readonly #choose: () => Target;
  #target: Target | null = null;
  #caisson: Caisson | null = null;
  readonly #hints = new Set<string>();

  constructor(command: Command, options: RemoteOptions = {}) {
    this.flags = command.opts() as Flags;
    this.json = command.opts<RemoteFlags>().json === true;
    this.#choose = () => targetOf(command, options);
  }

  /** The service and the token. They are chosen at the first use, so that other faults of the input are reported first. */
  get target(): Target {
    return (this.#target ??= this.#choose());
  }

  get caisson(): Caisson {
    const { url, token } = this.target;
    return (this.#caisson ??= new Caisson({ url, fetch: this.#fetch, token: token ?? undefined }));
  }

  /** Prints the hints of the answers, such as for a name that is perhaps misspelt. Programs read the answers only. */
  printHints(): void {
    if (!this.json) for (const hint of this.#hints) say(...printableLines(commandsIn(hint)));
  }

  readonly #fetch: typeof fetch = async (input, init) => {
    const answer = await this.target.fetch(input, init);
    const hint = answer.headers.get("caisson-hint");
    if (hint !== null && this.#hints.size < MAX_HINTS) this.#hints.add(hint);
    return answer;
  };

  /** Prints an answer: as JSON with `--json`, otherwise the text for readers. */
  readonly print = (answer: unknown, text: () => string): void => {
    process.stdout.write(this.json ? `${printableJson(answer)}\n` : text());
  };
}

export interface RemoteOptions {
  /** Whether the command needs no token. */
  readonly anonymous?: boolean;
  /** The folder of the project, from the arguments. Default: the current one. */
  readonly folder?: (args: readonly unknown[]) => string;
}

/**
 * Completes a command that talks to a service: adds the flags for the service and `--json`, the examples, and the action with
 * its exit code. Arguments and other flags must be added before.
 *
 * @param examples of the whole command line, without `caisson`
 */
export function remote<Flags = object>(
  command: Command,
  examples: readonly string[],
  work: (remote: Remote<Flags>, ...args: string[]) => Promise<void> | void,
  options: RemoteOptions = {},
): Command {
  addExamples(command, examples);
  command.addOption(new Option("--json", "print JSON for programs"));
  addTarget(command);
  return command.action(async () => {
    const call = new Remote<Flags>(command, options);
    // The reader of the output, such as `head`, has enough.
    process.stdout.on("error", () => process.exit());
    try {
      await work(call, ...(command.processedArgs as string[]));
      call.printHints();
    } catch (error) {
      fail(withHint(error, call));
    }
  });
}

/** Adds what to do if the service of this machine does not run: the user may not know that another one is not chosen. */
function withHint(error: unknown, call: Remote<unknown>): unknown {
  if (!(error instanceof CaissonError) || error.code !== "unreachable" || call.target.origin !== "local") return error;
  const hint =
    "Start the service of this machine with caisson serve, or choose another one with caisson login --url URL.";
  return new CaissonError({ code: error.code, detail: error.detail, hint, cause: error });
}

/** Adds the flags that choose the service. @param further settings of the service of this machine */
export function addTarget(command: Command, further: readonly (keyof Config)[] = []): void {
  const group = "Service:";
  command.addOption(new Option("--url <url>", "the service at this URL (CAISSON_URL)").helpGroup(group));
  const help = "a service of caisson login (CAISSON_PROFILE)";
  command.addOption(new Option("--profile <name>", help).helpGroup(group));
  addSettings(command, [...SERVICE_SETTINGS, ...further], "Service of this machine");
}

/** Returns the service and the token of a command with the flags of `addTarget`. @throws {UsageError} */
export function targetOf(command: Command, { anonymous = false, folder }: RemoteOptions = {}): Target {
  const { url, profile, insecureHttp } = command.opts<RemoteFlags>();
  const request: TargetRequest = {
    ...{ url, profile, anonymous },
    hasLocalFlags: [...LOCAL_SETTINGS, "config"].some((key) => command.getOptionValueSource(key) === "cli"),
    folder: folder?.(command.processedArgs) ?? ".",
    config: () => settingsOf(command),
    insecureHttp: insecureHttp === true || process.env["CAISSON_INSECURE_HTTP"] === "true",
  };
  return chooseTarget(request);
}

/** Parses an argument that becomes a segment of a path. */
export function name(text: string): string {
  if (/^\.{0,2}$|\p{Cs}/u.test(text)) throw new InvalidArgumentError("It is not a name.");
  if (/[\s(]/.test(text)) throw new InvalidArgumentError("A name has letters, digits and _ . @ -, and no spaces.");
  return text;
}

/** Parses a flag for a number of entries. */
export function count(text: string): number {
  const number = Number(text);
  if (!/^\d{1,6}$/.test(text) || number === 0) throw new InvalidArgumentError("It is not a number from 1 on.");
  return number;
}
