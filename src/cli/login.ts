import { existsSync } from "node:fs";
import { text } from "node:stream/consumers";

import { Command, Option } from "commander";

import { Caisson } from "../../client/src/index.ts";
import { addExamples } from "./examples.ts";
import { UsageError } from "./exits.ts";
import { fail } from "./fail.ts";
import { printableJson } from "./print/printable.ts";
import { askHidden } from "./print/prompt.ts";
import { say } from "./print/say.ts";
import { mustBeName, type Profile, profileOf, profilesFile, readProfiles, writeProfiles } from "./target/profiles.ts";
import { fetchWith } from "./target/service-fetch.ts";
import { mustBeEncrypted, readUrl } from "./target/target.ts";
import { checkedToken, tokenOfEnvironment } from "./target/token.ts";
import { identify, permitText } from "./whoami.ts";

interface LoginFlags {
  readonly url?: string;
  readonly profile?: string;
  readonly token?: string;
  readonly insecureHttp?: true;
  readonly json?: true;
}

export function loginCommand(): Command {
  const command = new Command("login")
    .description(
      "store a service and a token as a profile, which the other commands use from now on; the token is checked first",
    )
    .option("--url <url>", "the address of the service")
    .option("--token <token>", "the token; - or nothing: it is read from stdin, and stays out of the shell history")
    .option(
      "--profile <name>",
      "the name of the profile; default: the host of the URL. Without --url: a stored profile",
    )
    .option("--insecure-http", "the token may travel unencrypted to this service")
    .addOption(new Option("--json", "print JSON for programs"));
  addExamples(command, [
    "login --url https://caisson.example --token TOKEN",
    "login --url http://127.0.0.1:7070 < data/admin.token",
    "login --profile staging",
  ]);
  return command.action(async () => {
    try {
      await login(command.opts<LoginFlags>());
    } catch (error) {
      fail(error);
    }
  });
}

async function login(flags: LoginFlags): Promise<void> {
  const stored = readProfiles();
  const { name, profile } =
    flags.url === undefined ? await storedProfile(flags) : await newProfile(flags, readUrl(flags.url, "--url"));
  const caisson = new Caisson({ url: profile.url, token: profile.token, fetch: fetchWith() });
  // Nothing is stored if the service does not accept the token.
  const { jti, admin, can, containers } = await identify(caisson);
  writeProfiles({ current: name, profiles: { ...stored.profiles, [name]: profile } });
  const permits = admin ? "everything: it is administrative" : permitText(can, containers);
  if (flags.json)
    return void process.stdout.write(`${printableJson({ profile: name, url: profile.url, token: jti })}\n`);
  say(`logged in to ${profile.url} as profile ${name}, stored in ${profilesFile()}`);
  say(`the token ${jti} permits ${permits}`);
  if (tokenOfEnvironment() !== undefined) say("CAISSON_TOKEN is set, and other commands use it before the profile");
  say("next: caisson init, or caisson run task.ts");
}

/** Returns a stored profile, which becomes the current one, with another token if one is given. */
async function storedProfile(flags: LoginFlags): Promise<{ name: string; profile: Profile }> {
  const { profile: name, token } = flags;
  if (name === undefined)
    throw new UsageError("--url is required, such as https://caisson.example; or --profile, for a stored profile");
  const profile = profileOf(readProfiles(), name, "--profile");
  return { name, profile: token === undefined ? profile : { ...profile, token: await readToken(flags) } };
}

async function newProfile(flags: LoginFlags, url: string): Promise<{ name: string; profile: Profile }> {
  const { insecureHttp } = flags;
  mustBeEncrypted(url, "--url", insecureHttp === true);
  const name = mustBeName(flags.profile ?? new URL(url).host);
  const token = await readToken(flags);
  return { name, profile: { url, token, ...(insecureHttp && { insecureHttp }) } };
}

async function readToken({ token, url }: LoginFlags): Promise<string> {
  if (token !== undefined && token !== "-") {
    if (existsSync(token))
      throw new UsageError(`--token: ${token} is a file; give its content: caisson login --url URL < ${token}`);
    return checkedToken(token, "--token");
  }
  if (token === undefined) {
    const given = tokenOfEnvironment();
    if (given !== undefined) return given;
    if (process.stdin.isTTY) return checkedToken(await askHidden(`token for ${url}: `), "the prompt");
  }
  const given = await text(process.stdin);
  if (given.trim() === "")
    throw new UsageError(
      "stdin: there is no token. A service writes its administrative token to admin.token in its data folder: caisson login --url URL < data/admin.token. Or give --token, or CAISSON_TOKEN.",
    );
  return checkedToken(given, "stdin (or give --token, or CAISSON_TOKEN)");
}
