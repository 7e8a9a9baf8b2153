import { Command } from "commander";

import { type Caisson, CaissonError, type Claims, type Token } from "../../client/src/index.ts";
import { gather } from "./gather.ts";
import { readPage } from "./pages.ts";
import { say } from "./print/say.ts";
import { fields, table } from "./print/table.ts";
import { labelsText, timeText } from "./print/texts.ts";
import { count, name, remote } from "./remote.ts";
import { issueCommand } from "./tokens/issue.ts";
import { permissions, permitText } from "./whoami.ts";

export function tokensCommand(): Command {
  return new Command("tokens")
    .alias("token")
    .description("list, show, issue and revoke tokens")
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(issueCommand())
    .addCommand(revokeCommand())
    .showHelpAfterError("The commands are list, show, issue and revoke. The form is: caisson tokens issue acme");
}

interface ListFlags {
  readonly container?: string;
  readonly label?: string[];
  readonly limit: number;
}

function listCommand(): Command {
  const command = new Command("list")
    .description("list tokens: all for an administrator, otherwise those below the token")
    .option("--container <name>", "only tokens that reach this container")
    .option("--label <name[=value]>", "only tokens with this label; can be repeated", gather)
    .option("--limit <count>", "the most entries", count, 100);
  const examples = ["tokens list", "tokens list --container acme --json", "tokens list --label preset=customer"];
  return remote<ListFlags>(command, examples, async ({ caisson, flags, print }) => {
    const { container, label, limit } = flags;
    const tokens = await readPage(caisson.tokens.list({ container, label, limit }), limit);
    print(tokens, () => listText(tokens));
  });
}

function listText(tokens: readonly Token[]): string {
  const columns = [
    { head: "token" },
    { head: "expires" },
    { head: "runs", align: "right" },
    { head: "permits" },
  ] as const;
  const rows = tokens.map(({ jti, revoked, claims, runs }) => [
    jti,
    revoked ? "revoked" : claims.exp === null ? "never" : new Date(claims.exp * 1_000).toISOString().slice(0, 10),
    String(runs),
    summaryOf(claims),
  ]);
  return table(columns, rows);
}

function summaryOf({ admin, can, containers, task, labels, description }: Claims): string {
  const what = admin
    ? "everything"
    : task === null
      ? permitText(can, containers)
      : `the task ${task} in ${containers.join()}`;
  return [what, labelsText(labels), description].filter((text) => text !== null).join("; ");
}

function showCommand(): Command {
  const command = tokenVerb("show", "print what a token permits, its runs and its revocation; never the credential");
  return remote(command, [`tokens show ${EXAMPLE_JTI}`], async ({ caisson, print }, jti) => {
    const token = await caisson.tokens.get(jti);
    print(token, () => tokenText(token));
  });
}

function tokenText({ jti, issuedBy, issuedAt, revoked, lastUsed, runs, claims }: Token): string {
  const { code, timeout, net, labels, task, parents } = claims;
  return fields([
    ["token", jti],
    ...permissions({ ...claims, limits: claims.limits as Record<string, Record<string, number>> }),
    ["longest run", timeout],
    ["only code", code === null ? null : [code.url, code.sha256].filter(Boolean).join(", sha256 ")],
    ["network", net === null ? null : net === false ? "none" : net.join(", ")],
    ["task", task],
    ["labels", labelsText(labels)],
    ["issued", `${timeText(issuedAt)} by ${issuedBy}`],
    ["below", parents.length === 0 ? null : parents.join(", ")],
    ["revoked", revoked ? `${timeText(revoked.at)} by ${revoked.by}` : "no"],
    ["last used", lastUsed === null ? "never" : timeText(lastUsed)],
    ["runs", String(runs)],
  ]);
}

function revokeCommand(): Command {
  const command = tokenVerb("revoke", "revoke a token and all tokens below it, at once and for good");
  return remote(command, [`tokens revoke ${EXAMPLE_JTI}`], async ({ caisson, print, json }, jti) => {
    const isUnknown = await isMissing(caisson, jti);
    const answer = await caisson.tokens.revoke(jti);
    print(answer, () => fields([["revoked", jti]]));
    if (isUnknown && !json)
      say("no token with this jti is stored here; a token that has it is refused from now on; caisson tokens list");
    else if (!json) say("its next request is refused; runs in flight finish, unless the service has --kill-revoked");
  });
}

/** Whether the service has no such token. Another fault is that of the revocation, too. */
async function isMissing({ tokens }: Caisson, jti: string): Promise<boolean> {
  try {
    await tokens.get(jti);
    return false;
  } catch (error) {
    return error instanceof CaissonError && error.status === 404;
  }
}

const EXAMPLE_JTI = "9b2f7c1e-4a1d-4f6e-8a55-1f0f6d3e5a55";

function tokenVerb(verb: string, description: string): Command {
  return new Command(verb)
    .description(description)
    .argument("<jti>", "the name of the token, from tokens list", name)
    .showHelpAfterError(`The form is: caisson tokens ${verb} ${EXAMPLE_JTI}`);
}
