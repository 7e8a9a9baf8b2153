import { z } from "zod";

import { destinationText, readDestination } from "../egress/host.ts";
import type { NetClaim } from "../egress/restrict-policy.ts";
import { limitsMember } from "../limits/limit-members.ts";
import { BAD_PERMIT, readPermit } from "../package-names.ts";
import type { PackagesClaim } from "../packages/policy.ts";
import { formatDuration, parseDuration } from "../units.ts";
import { type Params, type Pin, type TokenLimits, VERBS, type Verb } from "./claims.ts";
import { MAX_DEPTH, MAX_UNIX_S } from "./token-format.ts";

/** The maximum number of patterns, which each run compares. */
const MAX_CONTAINERS = 100;
/** The maximum number of hosts, from which the service builds a set for each guest. */
const MAX_DESTINATIONS = 100;
/** The longest DNS name, and a port. */
const MAX_DESTINATION_CHARS = 260;
/** An exact name, or a prefix and one `*`. Regular expressions are not accepted, because some of them hang. */
const CONTAINER = /^(?:[A-Za-z0-9_][A-Za-z0-9_.@-]{0,127}\*?|\*)$/;

const CONTAINERS = 'must be a list of container names, such as ["acme", "shop-*"]';
const CONTAINERS_SIZE = `needs 1 to ${MAX_CONTAINERS} container names`;
const VERBS_LIST = `must be a list with any of ${VERBS.join(", ")}`;
const VERBS_SIZE = `needs 1 to ${VERBS.length} of ${VERBS.join(", ")}`;
const UNIX_SECONDS = "must be a time in whole Unix seconds, not milliseconds, such as 1900000000";

/** The shortest timeout that a token may set, in milliseconds, as for the settings of the operator. */
const MIN_TIMEOUT_MS = 10;
/** The longest timeout in milliseconds: Node's timers have 31 bits, and a longer one would fire at once. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;
const TIMEOUT = "must be a duration such as 500ms or 5s, from 10ms to 24d";

const NET = `must be false, or a list of 1 to ${MAX_DESTINATIONS} hosts, such as ["api.example.com"]; without net, code may reach what the service permits`;
const DESTINATION =
  "must be a host such as api.example.com, or with a port, such as api.example.com:8443; without stars";

/** The maximum number of packages, each of which a run compares. */
const MAX_PACKAGES = 100;
const PACKAGES = `must be false, or a list of 1 to ${MAX_PACKAGES} packages, such as ["zod", "@acme/*"]`;

const MAX_PARAMS = 100;
const PARAMS = `must be an object of at most ${MAX_PARAMS} values by their names`;
const MAX_NAME_CHARS = 64;
const NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/;
export const MEMBER_NAME: string = `has an invalid name; use at most ${MAX_NAME_CHARS} of A-Z a-z 0-9 _ . - and begin with a letter or _`;

const DEPTH = `must be a whole number of generations, from 0 to ${MAX_DEPTH}`;
const TOKEN_LIMITS = 'must be an object with container, token or both, such as {"container": {"minute": 3}}';
const PIN = 'must be an object with url, sha256 or both, such as {"url": "https://example.com/task.js"}';
/** The same as the default for a `task_url`. */
const MAX_URL_CHARS = 2_048;
const URL_FORM = `must be an http or https URL without credentials, of at most ${MAX_URL_CHARS} characters`;
const SHA256 = "must be a SHA-256 in 64 hexadecimal digits";

/** The verbs of a token with pinned code. It cannot issue tokens, or read what it was not issued for. */
export const PINNED_VERBS: ReadonlySet<Verb> = new Set(["run", "limits"]);

/** The length is checked before the items, so that a huge list gets one fault instead of one for each item. */
export const containersMember: z.ZodType<string[]> = z
  .array(z.unknown(), CONTAINERS)
  .min(1, CONTAINERS_SIZE)
  .max(MAX_CONTAINERS, CONTAINERS_SIZE)
  .pipe(
    z.array(
      z
        .string("must be a container name, as text")
        .regex(CONTAINER, "must be a container name such as acme, or its beginning and a star, such as acme-*"),
    ),
  )
  .meta({ items: { type: "string", pattern: CONTAINER.source }, maxItems: MAX_CONTAINERS });

export const canMember: z.ZodType<Verb[]> = z
  .array(z.unknown(), VERBS_LIST)
  .min(1, VERBS_SIZE)
  .max(VERBS.length, VERBS_SIZE)
  .pipe(z.array(z.enum(VERBS, `must be one of ${VERBS.join(", ")}`)))
  .meta({ items: { enum: VERBS }, maxItems: VERBS.length });

/** RFC 7519's NumericDate, without fractions. */
export const unixSecondsMember: z.ZodType<number> = z
  .int({ error: UNIX_SECONDS, abort: true })
  .min(0, UNIX_SECONDS)
  .max(MAX_UNIX_S, UNIX_SECONDS);

const classMember = limitsMember.exactOptional();

export const tokenLimitsMember: z.ZodType<TokenLimits> = z.strictObject(
  { container: classMember, token: classMember },
  { error: (issue) => (issue.code === "invalid_type" ? TOKEN_LIMITS : undefined) },
);

/** Normalizes the spelling, so that equal timeouts are equal texts. */
export const timeoutMember: z.ZodType<string> = z
  .unknown()
  .transform((input, context) => {
    const ms = typeof input === "string" ? durationOf(input) : Number.NaN;
    if (ms >= MIN_TIMEOUT_MS && ms <= MAX_TIMEOUT_MS) return formatDuration(ms);
    context.addIssue({ code: "custom", message: TIMEOUT });
    return z.NEVER;
  })
  .meta({ type: "string", description: TIMEOUT });

/** Returns the milliseconds of a duration; NaN if the text is not a duration. */
function durationOf(text: string): number {
  try {
    return parseDuration(text);
  } catch {
    return Number.NaN;
  }
}

/** Normalizes spelling and order, so that tokens with equal claims can share a guest. */
export const netMember: z.ZodType<Exclude<NetClaim, null>> = listOrFalse({
  fault: NET,
  faultOfItem: DESTINATION,
  most: MAX_DESTINATIONS,
  maxLength: MAX_DESTINATION_CHARS,
  read: (text) => {
    const destination = text.length <= MAX_DESTINATION_CHARS ? readDestination(text) : null;
    return destination && destinationText(destination);
  },
});

/** Normalizes the order, so that tokens with equal claims can share a guest. */
export const packagesMember: z.ZodType<Exclude<PackagesClaim, null>> = listOrFalse({
  fault: PACKAGES,
  faultOfItem: BAD_PERMIT,
  most: MAX_PACKAGES,
  read: (text) => (readPermit(text) === null ? null : text),
});

interface ListMember {
  /** The fault of a value that is neither false nor a list of 1 to `most` items. */
  readonly fault: string;
  readonly faultOfItem: string;
  readonly most: number;
  /** The characters of an item, for the schema. */
  readonly maxLength?: number;
  /** Returns the normal form of an item; null if it is invalid. */
  readonly read: (text: string) => string | null;
}

/** Returns a member that restricts the token to what it lists. `false` permits nothing. */
function listOrFalse({ fault, faultOfItem, most, maxLength, read }: ListMember): z.ZodType<string[] | false> {
  const items = { type: "string", ...(maxLength !== undefined && { maxLength }) } as const;
  return z
    .unknown()
    .transform((input, context) => {
      const refuse = (message: string, path: number[]): never => {
        context.addIssue({ code: "custom", message, path });
        return z.NEVER;
      };
      if (input === false) return input;
      if (!Array.isArray(input) || input.length < 1 || input.length > most) return refuse(fault, []);
      const list = input.map((item: unknown, index) => {
        return (typeof item === "string" ? read(item) : null) ?? refuse(faultOfItem, [index]);
      });
      return [...new Set(list)].toSorted();
    })
    .meta({ oneOf: [{ const: false }, { type: "array", items, minItems: 1, maxItems: most }] });
}

/** Normalizes the spelling, so that inheritance compares equal URLs as equal. */
const urlMember = z
  .unknown()
  .transform((input, context) => {
    const url = typeof input === "string" && input.length <= MAX_URL_CHARS ? URL.parse(input) : null;
    const isFetched = url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
    if (isFetched) url.hash = "";
    if (isFetched && url.href.length <= MAX_URL_CHARS) return url.href;
    context.addIssue({ code: "custom", message: URL_FORM });
    return z.NEVER;
  })
  .meta({ type: "string", format: "uri", maxLength: MAX_URL_CHARS, pattern: "^[hH][tT][tT][pP][sS]?:" });

export const pinMember: z.ZodType<Pin> = z
  .strictObject(
    {
      url: z.exactOptional(urlMember),
      sha256: z.exactOptional(
        z
          .string(SHA256)
          .regex(/^[\da-f]{64}$/i, SHA256)
          .toLowerCase(),
      ),
    },
    { error: (issue) => (issue.code === "invalid_type" ? PIN : undefined) },
  )
  .refine((pin) => Object.keys(pin).length > 0, PIN);

/**
 * Values by name, which a task can write after a dot. They are not read with zod, because zod drops a member `__proto__`
 * silently. A caller that relies on the member would not notice that.
 */
export const paramsMember: z.ZodType<Params> = z
  .unknown()
  .transform((input, context) => {
    const fault = (message: string, path: string[]): never => {
      context.addIssue({ code: "custom", message, path });
      return z.NEVER;
    };
    if (typeof input !== "object" || input === null || Array.isArray(input)) return fault(PARAMS, []);
    const entries = Object.entries(input);
    if (entries.length > MAX_PARAMS) return fault(PARAMS, []);
    for (const [name] of entries) if (!isMemberName(name)) fault(MEMBER_NAME, [name.slice(0, MAX_NAME_CHARS)]);
    return Object.fromEntries(entries);
  })
  .meta({ type: "object", maxProperties: MAX_PARAMS, propertyNames: { pattern: NAME.source } });

/** The pattern of the names of params and secrets. */
export const MEMBER_NAME_PATTERN: string = NAME.source;

/** Returns whether params and secrets may have that name. */
export function isMemberName(name: string): boolean {
  return NAME.test(name) && name !== "__proto__";
}

export const depthMember: z.ZodType<number> = z.int(DEPTH).min(0, DEPTH).max(MAX_DEPTH, DEPTH);
