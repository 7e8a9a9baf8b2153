import { limits } from "../../config/values.ts";
import { judgeTokenRequest } from "../../tokens/judge-request.ts";
import { parseDuration } from "../../units.ts";
import { UsageError } from "../exits.ts";
import { notPair, pairMeant } from "../pairs.ts";
import { type SecretFlags, secretsOf, type SecretSources, SOURCES } from "./secret-flags.ts";

/** The flags of `token issue`, as commander gives them. */
export interface IssueFlags extends SecretFlags {
  readonly admin?: true;
  readonly container?: readonly string[];
  readonly can?: readonly string[];
  readonly limit?: readonly string[];
  readonly timeout?: string;
  readonly expires?: string;
  readonly nbf?: string;
  readonly secretsReadable?: true;
  readonly param?: readonly string[];
  readonly codeUrl?: string;
  readonly codeSha256?: string;
  readonly net?: readonly string[];
  readonly offline?: true;
  readonly package?: readonly string[];
  readonly packages?: boolean;
  readonly fresh?: true;
  readonly depth?: string;
  readonly selfRevoke?: boolean;
  readonly label?: readonly string[];
  readonly description?: string;
}

/**
 * Converts the flags into the members of `POST /api/tokens`. The service checks most members; this function checks only
 * members with a special form on the command line.
 *
 * @throws {UsageError} with a line for each invalid flag, and for each other fault that the service would report.
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
    fault("containers", "a container is required, such as --container acme, or --admin for an administrative token");
  }
  const { codeUrl: url, codeSha256: sha256 } = flags;
  const members = {
    admin: flags.admin,
    containers: flags.container?.flatMap((list) => list.split(",")),
    can: flags.can?.flatMap((list) => list.split(",")),
    // Without --expires, an administrative token has no end, because an operator would not expect it to end after a
    // day.
    ...(flags.admin && flags.expires === undefined ? { exp: null } : { expiresIn: flags.expires }),
    nbf: wholeNumber(flags.nbf, (text) => fault("nbf", `--nbf ${text}`)),
    limits: limitsOf(flags.limit, (text) => fault("limits", `--limit ${text}`)),
    timeout: flags.timeout,
    secrets: await secretsOf(flags, sources, (text) => fault("secrets", text)),
    secretsReadable: flags.secretsReadable,
    params: pairsOf("--param", flags.param, (text) => fault("params", text)),
    code: url === undefined && sha256 === undefined ? undefined : { url, sha256 },
    net: flags.offline ? false : flags.net,
    packages: flags.packages === false ? false : flags.package?.flatMap((list) => list.split(",")),
    fresh: flags.fresh,
    depth: wholeNumber(flags.depth, (text) => fault("depth", `--depth ${text}`)),
    selfRevoke: flags.selfRevoke === false ? false : undefined,
    labels: pairsOf("--label", flags.label, (text) => fault("labels", text)),
    description: flags.description,
  };
  if (flags.expires !== undefined && !isLifetime(flags.expires)) {
    const text = `--expires must be a duration such as 30s, 5m, 12h or 7d, not ${JSON.stringify(flags.expires)}`;
    fault(
      "expiresIn",
      /^(?:never|none|0)$/i.test(flags.expires) ? `${text}; --admin tokens have no end without it` : text,
    );
  }
  if (flags.offline && flags.net) fault("net", "--offline and --net exclude each other");
  if (flags.packages === false && flags.package) fault("packages", "--no-packages and --package exclude each other");
  const request = JSON.parse(JSON.stringify(members)) as Record<string, unknown>;
  if (faults.size > 0)
    throw new UsageError([...[...faults.values()].flat(), ...faultsOfOthers(request, faults)].join("\n"));
  return request;
}

/**
 * Returns the faults of the other members, because an incomplete request is not sent to the service, which would report
 * them.
 */
function faultsOfOthers(request: Record<string, unknown>, known: ReadonlyMap<string, unknown>): string[] {
  const others = Object.fromEntries(Object.entries(request).filter(([name]) => !known.has(name)));
  const { invalid } = judgeTokenRequest(others, Date.now(), null, [...known.keys()]);
  return invalid.map(({ member, detail }) => `${member} ${detail}`);
}

function isLifetime(text: string): boolean {
  try {
    return parseDuration(text) > 0;
  } catch {
    return false;
  }
}

/** Parses limits such as `container.minute=60` and `token.day=1000`. */
function limitsOf(texts: readonly string[] | undefined, fault: (text: string) => void): object | undefined {
  if (texts === undefined) return undefined;
  const classes: Record<string, Record<string, number>> = {};
  for (const text of texts) {
    const [, kind, window] = /^(container|token)\.(.*)$/s.exec(text) ?? [];
    if (kind === undefined || window === undefined || !window.includes("=")) {
      const pair = kind === undefined ? null : pairMeant("--limit", text);
      const meant = kind === undefined && /^\w+=\d+$/.test(text) ? `container.${text}` : pair;
      const question = meant === null ? "" : `; did you mean --limit ${meant}?`;
      fault(`must be like container.minute=60 or token.day=1000, not ${JSON.stringify(text)}${question}`);
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

function pairsOf(
  flag: string,
  texts: readonly string[] | undefined,
  fault: (text: string) => void,
): object | undefined {
  if (texts === undefined) return undefined;
  const pairs = texts.map((text): [string, string] => {
    const at = text.indexOf("=");
    if (at < 1) fault(notPair(flag, text, "key=value"));
    return [text.slice(0, at), text.slice(at + 1)];
  });
  const keys = pairs.map(([key]) => key);
  for (const key of new Set(keys.filter((name, at) => keys.indexOf(name) !== at))) {
    fault(`${flag} sets ${JSON.stringify(key)} more than once`);
  }
  return Object.fromEntries(pairs);
}

function wholeNumber(text: string | undefined, fault: (text: string) => void): number | undefined {
  if (text === undefined || /^\d{1,12}$/.test(text)) return text === undefined ? undefined : Number(text);
  fault(`must be a whole number, not ${JSON.stringify(text)}`);
  return undefined;
}
