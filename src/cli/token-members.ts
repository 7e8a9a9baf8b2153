import { limits } from "../config/values.ts";

/** The flags of `token issue`, as commander gives them. */
export interface IssueFlags {
  readonly admin?: true;
  readonly container?: readonly string[];
  readonly can?: readonly string[];
  readonly limit?: readonly string[];
  readonly expires?: string;
  readonly secret?: readonly string[];
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
 * @throws {Error} with a line for each flag that cannot be read.
 */
export function tokenMembers(flags: IssueFlags): Record<string, unknown> {
  const faults: string[] = [];
  if (!flags.admin && !flags.container) {
    faults.push("give --container for a token that reaches some, or --admin for an administrative one");
  }
  const read = <T>(flag: string, given: string | undefined, reader: (text: string) => T): T | undefined => {
    if (given === undefined) return undefined;
    try {
      return reader(given);
    } catch (error) {
      faults.push(`--${flag} ${(error as Error).message}`);
      return undefined;
    }
  };
  const { codeUrl: url, codeSha256: sha256 } = flags;
  const members = {
    admin: flags.admin,
    containers: flags.container,
    can: flags.can?.flatMap((list) => list.split(",")),
    // Nobody wants an administrator's token to end after a day without a word.
    ...(flags.admin && flags.expires === undefined ? { exp: null } : { expiresIn: flags.expires }),
    limits: limitsOf(flags.limit, (error) => faults.push(`--limit ${error}`)),
    secrets: pairsOf("secret", flags.secret, faults),
    secretsReadable: flags.secretsReadable,
    params: pairsOf("param", flags.param, faults),
    code: url === undefined && sha256 === undefined ? undefined : { url, sha256 },
    net: flags.offline ? false : flags.net,
    fresh: flags.fresh,
    depth: read("depth", flags.depth, wholeNumber),
    selfRevoke: flags.selfRevoke === false ? false : undefined,
  };
  if (flags.offline && flags.net) faults.push("--offline leaves no place for --net; give one of them");
  if (faults.length > 0) throw new Error(faults.join("\n"));
  return JSON.parse(JSON.stringify(members)) as Record<string, unknown>;
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

/** The faults name the flag and its key: what may be a secret is not printed. */
function pairsOf(flag: string, given: readonly string[] | undefined, faults: string[]): object | undefined {
  if (given === undefined) return undefined;
  const pairs = given.map((text): [string, string] => {
    const at = text.indexOf("=");
    if (at < 1) faults.push(`--${flag} must be KEY=VALUE`);
    return [text.slice(0, at), text.slice(at + 1)];
  });
  const keys = pairs.map(([key]) => key);
  for (const key of new Set(keys.filter((name, at) => keys.indexOf(name) !== at))) {
    faults.push(`--${flag} gives ${JSON.stringify(key)} more than once`);
  }
  return Object.fromEntries(pairs);
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new TypeError(`must be a whole number, and not ${JSON.stringify(text)}`);
  return Number(text);
}
