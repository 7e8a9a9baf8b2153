import path from "node:path";

import { Command } from "commander";

import type { Caisson, IssuedToken } from "../../../client/src/index.ts";
import type { Config } from "../../config.ts";
import { PRESETS } from "../../tokens/presets.ts";
import { addExamples } from "../examples.ts";
import { fail } from "../fail.ts";
import { gather } from "../gather.ts";
import { printable, printableJson } from "../print/printable.ts";
import { say } from "../print/say.ts";
import { endText } from "../print/texts.ts";
import { addTarget, Remote } from "../remote.ts";
import { settingsOf } from "../settings.ts";
import { readProfiles } from "../target/profiles.ts";
import { permitText } from "../whoami.ts";
import type { IssueFlags } from "./members.ts";
import { withPreset } from "./presets.ts";

/** The settings for a token that is issued without the service. */
const OFFLINE_SETTINGS = ["keys", "secretsKey", "redis", "redisPasswordFile", "redisCa", "realm"] as const;

export function issueCommand(): Command {
  const command = new Command("issue")
    .description(
      "issue a token and print it once, to stdout; --admin without --url and --profile reads the data folder, and the " +
        "Redis that nodes share; the service issues other tokens",
    )
    .argument("[container...]", "a container that it permits, or a prefix such as acme-*")
    .option("--preset <name>", presetHelp())
    .option("--admin", "an administrative token")
    .option("--container <name>", "a container that it permits, in addition to the arguments; can be repeated", gather)
    .option("--can <verbs>", "what it permits there, such as run,limits,issue", gather)
    .option("--limit <class.window=runs>", "such as container.minute=60 or token.day=1000; can be repeated", gather)
    .option("--timeout <duration>", "how long a run may take, such as 5s; the limits of the operator apply in any case")
    .option("--expires <duration>", "how long it is valid, such as 12h; default: a day, with --admin until revoked")
    .option("--nbf <seconds>", "the Unix time from which it is valid")
    .option(
      "--secret <key[=value]>",
      "a secret for its code; without a value, the value of the environment variable of this name; can be repeated. A value " +
        "on the command line is visible in the list of processes and in the shell history",
      gather,
    )
    .option("--secret-file <key=path>", "a secret for its code, from a file or - for stdin; can be repeated", gather)
    .option("--secrets-readable", "code that the caller chooses may read the secrets")
    .option("--param <key=value>", "a readable value for its code; can be repeated", gather)
    .option("--code-url <url>", "the URL of the only code that it permits")
    .option("--code-sha256 <digest>", "the SHA-256 of the only code that it permits")
    .option("--net <host>", "a destination that its code may reach; all others are denied; can be repeated", gather)
    .option("--offline", "its code has no network")
    .option(
      "--package <name>",
      "a package that its code may import, such as zod or lodash@4, and no other; can be repeated",
      gather,
    )
    .option("--no-packages", "its code imports no packages")
    .option("--fresh", "every run has a guest that no run has used")
    .option("--depth <generations>", "how many generations of tokens may exist below it")
    .option("--no-self-revoke", "it cannot revoke itself")
    .option("--label <name=value>", "a label, such as team=billing; can be repeated", gather)
    .option("--description <text>", "a text for readers")
    .option("--json", "print JSON for programs: token, jti and claims");
  addExamples(command, [
    "tokens issue --preset customer acme",
    "tokens issue acme --can run,limits --limit token.day=1000 --expires 12h",
    "tokens issue --admin",
  ]);
  addTarget(command, OFFLINE_SETTINGS);
  return command.action(async (containers: readonly string[]) => {
    try {
      await issue(command, containers);
    } catch (error) {
      fail(error);
    }
  });
}

type AllFlags = IssueFlags & { preset?: string; json?: true; url?: string; profile?: string };

async function issue(command: Command, containers: readonly string[]): Promise<void> {
  const flags = command.opts<AllFlags>();
  const { tokenMembers } = await import("./members.ts");
  const all = [...containers, ...(flags.container ?? [])];
  const members = await tokenMembers({ ...flags, ...(all.length > 0 && { container: all }) });
  const request = flags.preset === undefined ? members : withPreset(flags.preset, members);
  const isOffline = flags.admin === true && flags.url === undefined && flags.profile === undefined;
  const issued = isOffline
    ? await issueOffline(settingsOf(command), request)
    : await ask(new Remote(command).caisson, request);
  process.stdout.write(flags.json ? `${printableJson(issued)}\n` : `${printable(issued.token)}\n`);
  if (flags.json) return;
  describe(issued);
  if (isOffline) describeFolder(path.resolve(settingsOf(command).data));
}

/** Prints what was issued to stderr, because its name is needed to revoke it. */
function describe({ jti, claims }: Pick<IssuedToken, "jti" | "claims">): void {
  const { admin, can, containers, exp } = claims;
  const what = admin ? "everything: it is administrative" : permitText(can, containers);
  say(
    `the token ${jti} permits ${what}; it expires: ${endText(exp)}`,
    `it is shown only now; to end it: caisson tokens revoke ${jti}`,
  );
}

/** Prints for which service an offline token is. The login may be for another service. */
function describeFolder(data: string): void {
  const { current } = readProfiles();
  const login =
    current === null
      ? ""
      : `; for the service of the login ${current} run: caisson tokens issue --admin --profile ${current}`;
  say(`it is for the service of the data folder ${data}${login}`);
}

function presetHelp(): string {
  const lines = Object.entries(PRESETS).map(([name, { does }]) => `${name} (${does})`);
  return `what the token is for; other flags change it: ${lines.join("; ")}`;
}

function ask(caisson: Caisson, members: object): Promise<IssuedToken> {
  return caisson.tokens.issue(members);
}

/** Issues a token without the service, which may be stopped or may reject the token of its folder. */
async function issueOffline(config: Config, members: object): Promise<IssuedToken> {
  const { openRedis, openShared } = await import("../../stores.ts");
  const { openTokens } = await import("../../tokens/token-service.ts");
  const { refuseLostPart } = await import("../../data-parts.ts");
  await using closers = new AsyncDisposableStack();
  const link = closers.adopt(await openRedis(config, null), (open) => open?.close());
  const shared = closers.adopt(link && (await openShared(config, link)), (open) => open?.close());
  // The token store creates its file.
  if (!shared) await refuseLostPart(path.resolve(config.data), config.data);
  const options = {
    create: false,
    registry: shared?.registry,
    secrets: shared?.secrets,
    secretsKey: config.secretsKey ?? undefined,
  };
  const tokens = closers.adopt(await openTokens(path.resolve(config.data), config.keys ?? undefined, options), (open) =>
    open.close(),
  );
  return (await tokens.issue(members, "command line")) as IssuedToken;
}
