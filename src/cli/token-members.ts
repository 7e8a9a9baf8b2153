import { limits } from "../config/values.ts";
import { judgeTokenRequest } from "../tokens/judge-request.ts";
import { type SecretFlags, secretsOf, type SecretSources, SOURCES } from "./secret-flags.ts";

/** The flags of `token issue`, as commander gives them. */
export interface IssueFlags extends SecretFlags {
  readonly admin?: true;
  readonly container?: readonly string[];
  readonly can?: readonly string[];
  readonly limit?: readonly string[];
  readonly expires?: string;
  readonly nbf?: string;
  readonly secretsReadable?: true;
  readonly param?: readonly string[];
  readonly codeUrl?: string;
  readonly codeSha256?: string;
  readonly net?: readonly string[];
  readonly offline?: true;
  readonly fresh?: true;
  readonly depth?: string;
  readonly selfRevoke?: boolean;
}

/**
 * The members of `POST /api/tokens` that the flags ask for. Whether they may be so is for the service to say; here is only
 * read what has a form of its own on the command line.
 *
 * @throws {Error} with a line for each flag that cannot be read, and for what is wrong with the others.
 */
export async function tokenMembers(
  flags: IssueFlags,
  sources: SecretSources = SOURCES,
): Promise<Record<string, unknown>> {
  const faults = new Map<string, string[]>();
  const fault = (member: string, text: string): void => {
    faults.set(member, [...(faults.get(member) ?? []), text]);
  };
  if (!flags.admin && !flags.container) {
    fault("containers", "give --container for a token that reaches some, or --admin for an administrative one");
  }
  const { codeUrl: url, codeSha256: sha256 } = flags;
  const members = {
    admin: flags.admin,
    containers: flags.container,
    can: flags.can?.flatMap((list) => list.split(",")),
    // Nobody wants an administrator's token to end after a day without a word.
    ...(flags.admin && flags.expires === undefined ? { exp: null } : { expiresIn: flags.expires }),
    nbf: wholeNumber(flags.nbf, (text) => fault("nbf", `--nbf ${text}`)),
    limits: limitsOf(flags.limit, (text) => fault("limits", `--limit ${text}`)),
    secrets: await secretsOf(flags, sources, (text) => fault("secrets", text)),
    secretsReadable: flags.secretsReadable,
    params: pairsOf(flags.param, (text) => fault("params", `--param ${text}`)),
    code: url === undefined && sha256 === undefined ? undefined : { url, sha256 },
    net: flags.offline ? false : flags.net,
    fresh: flags.fresh,
    depth: wholeNumber(flags.depth, (text) => fault("depth", `--depth ${text}`)),
    selfRevoke: flags.selfRevoke === false ? false : undefined,
  };
  if (flags.offline && flags.net) fault("net", "--offline leaves no place for --net; give one of them");
  const given = JSON.parse(JSON.stringify(members)) as Record<string, unknown>;
  if (faults.size > 0) throw new Error([...[...faults.values()].flat(), ...faultsOfOthers(given, faults)].join("\n"));
  return given;
}

/** The service is not asked for half of what is meant, and would only then tell these. */
function faultsOfOthers(given: Record<string, unknown>, known: ReadonlyMap<string, unknown>): string[] {
  const others = Object.fromEntries(Object.entries(given).filter(([name]) => !known.has(name)));
  const { invalid } = judgeTokenRequest(others, Date.now(), null, [...known.keys()]);
  return invalid.map(({ member, detail }) => `${member} ${detail}`);
}

/** `container.minute=60`, `token.day=1000`. */
function limitsOf(given: readonly string[] | undefined, fault: (text: string) => void): object | undefined {
  if (given === undefined) return undefined;
  const classes: Record<string, Record<string, number>> = {};
  for (const text of given) {
    const [, kind, window] = /^(container|token)\.(.*)$/s.exec(text) ?? [];
    if (kind === undefined || window === undefined) {
      fault(`must be such as container.minute=60 or token.day=1000, and not ${JSON.stringify(text)}`);
      continue;
    }
    try {
      Object.assign((classes[kind] ??= {}), limits([window]));
    } catch (error) {
      fault((error as Error).message);
    }
  }
  return classes;
}

function pairsOf(given: readonly string[] | undefined, fault: (text: string) => void): object | undefined {
  if (given === undefined) return undefined;
  const pairs = given.map((text): [string, string] => {
    const at = text.indexOf("=");
    if (at < 1) fault("must be KEY=VALUE");
    return [text.slice(0, at), text.slice(at + 1)];
  });
  const keys = pairs.map(([key]) => key);
  for (const key of new Set(keys.filter((name, at) => keys.indexOf(name) !== at))) {
    fault(`gives ${JSON.stringify(key)} more than once`);
  }
  return Object.fromEntries(pairs);
}

function wholeNumber(text: string | undefined, fault: (text: string) => void): number | undefined {
  if (text === undefined || /^\d{1,12}$/.test(text)) return text === undefined ? undefined : Number(text);
  fault(`must be a whole number, and not ${JSON.stringify(text)}`);
  return undefined;
}
