import type { z } from "zod";

import { Problem } from "./errors.ts";
import { didYouMean, listed, nearest } from "./nearest.ts";

/** The valid members of a received JSON object, and its faults. */
export interface SoundMembers<T> {
  /** The members without a fault; null if the value is not an object. */
  readonly data: T | null;
  readonly faults: readonly MemberFault[];
  /** The names of the members with a fault. */
  readonly faulty: ReadonlySet<string>;
}

/** All faults of a request. */
export interface RequestFaults {
  /** The faults that no token could permit. */
  readonly invalid: readonly MemberFault[];
  /** The members that exceed the token of the caller. */
  readonly exceeding: readonly MemberFault[];
}

/** A fault of a received JSON object, with the path of its member. */
export interface MemberFault {
  readonly member: string;
  readonly detail: string;
  /** The names that an unknown member could have had. The answer names them in its hint. */
  readonly known?: readonly string[];
  /** What the caller can do about it. The answer has the first of them as its hint. */
  readonly hint?: string;
}

/** The maximum number of reported faults, so that an answer is not many times larger than its request. */
const MAX_REPORTED = 100;
const MAX_NAME_CHARS = 64;
/** The unknown members for which a similar name is searched, so that a body of wrong names takes no time. */
const MAX_SEARCHED = 8;
const MAX_LISTED = 40;
/** Shorter names of other services are near to any short word. */
const LEAST_OTHER = 5;

/**
 * Reads an object whose members are all optional. It reads valid members also if others are invalid, so that the caller
 * can report contradictions between members together with these faults.
 *
 * @param whyNot see `schemaFaults`.
 */
export function readSound<T>(schema: z.ZodType<T>, input: unknown, whyNot?: WhyNot): SoundMembers<T> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return { data: parsed.data, faults: [], faulty: new Set() };
  const faults = schemaFaults(schema, parsed.error, whyNot);
  const faulty = new Set<string>();
  for (const issue of parsed.error.issues) {
    const names = issue.path.length === 0 && issue.code === "unrecognized_keys" ? issue.keys : issue.path.slice(0, 1);
    if (names.length === 0) return { data: null, faults, faulty };
    for (const name of names) faulty.add(String(name));
  }
  const valid = Object.entries(input as object).filter(([name]) => !faulty.has(name));
  return { data: schema.parse(Object.fromEntries(valid)), faults, faulty };
}

/** Returns the detail of the fault for an unknown member, by its path, or null for the usual detail. */
export type WhyNot = (member: string) => string | null;

/**
 * Converts the errors of a schema into faults, one for each member.
 *
 * @param whyNot for names that need another detail than other unknown members.
 * @param unknown the usual detail.
 */
export function schemaFaults(
  schema: z.ZodType,
  error: z.core.$ZodError,
  whyNot: WhyNot = () => null,
  unknown = "is not a known member",
): MemberFault[] {
  let searched = 0;
  return error.issues.flatMap((issue): MemberFault[] => {
    const path = issue.path.map(String);
    if (issue.code !== "unrecognized_keys") return [{ member: path.join("."), detail: issue.message }];
    const known = namesAt(schema, path);
    return issue.keys.slice(0, MAX_REPORTED).map((key) => {
      const member = [...path, key.slice(0, MAX_NAME_CHARS)].join(".");
      const detail = whyNot([...path, key].join("."));
      if (detail !== null) return { member, detail };
      searched += 1;
      return { member, detail: unknown + (searched > MAX_SEARCHED ? "" : meant(key, known)), known };
    });
  });
}

/** Names of other services and of the other objects of this one, and what they mean here. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  ttl: "expiresIn",
  expires: "expiresIn",
  lifetime: "expiresIn",
  scope: "can",
  scopes: "can",
  verbs: "can",
  permissions: "can",
  source: "code",
  script: "code",
  content: "code",
  files: "modules",
  dependencies: "packages",
  npm: "packages",
  libraries: "packages",
  env: "params",
  egress: "net",
  network: "net",
  internet: "net",
  hosts: "net",
  domains: "net",
  schema: "input",
  inputschema: "input",
  quota: "limits",
  quotas: "limits",
  ratelimit: "limits",
  ratelimits: "limits",
  tags: "labels",
  name: "description",
  title: "description",
  comment: "description",
  note: "description",
  // Of queries.
  from: "since",
  to: "until",
  since: "from",
  until: "to",
  after: "since",
  before: "until",
  offset: "cursor",
  page: "cursor",
  count: "limit",
  size: "limit",
  per_page: "limit",
  search: "q",
  query: "q",
  text: "q",
  force: "now",
  group: "by",
  groupby: "by",
};

/**
 * Returns `; did you mean ...?` for an unknown name, from its spelling or from a name that other services have; otherwise an empty text.
 *
 * @param others names of other services, and what they mean here
 */
export function meant(
  key: string,
  known: readonly string[],
  others: Readonly<Record<string, string>> = OTHER_NAMES,
): string {
  const name = key.toLowerCase();
  const other = Object.hasOwn(others, name) ? others[name]! : "";
  if (known.includes(other)) return `; did you mean ${other}?`;
  const question = didYouMean(key, known);
  if (question !== "") return question;
  // A misspelled name of another service: scrpt is script, which is code.
  const near = nearest(
    key,
    Object.keys(others).filter((each) => each.length >= LEAST_OTHER && known.includes(others[each]!)),
  );
  return near === null ? "" : `; did you mean ${others[near]}?`;
}

/** Returns the names of the members of the object at a path in a schema; none if the schema does not tell them. */
function namesAt(schema: z.ZodType, path: readonly string[]): readonly string[] {
  let at: SchemaDefinition | undefined = definitionOf(schema);
  for (const name of path) at = definitionOf(objectOf(at)?.shape?.[name]);
  return Object.keys(objectOf(at)?.shape ?? {});
}

/** The parts of the definition of a schema (`def` of zod) that lead to the members of an object. */
interface SchemaDefinition {
  readonly shape?: Readonly<Record<string, z.ZodType>>;
  readonly innerType?: z.ZodType;
  readonly in?: z.ZodType;
}

function definitionOf(schema: z.ZodType | undefined): SchemaDefinition | undefined {
  return schema?.def as SchemaDefinition | undefined;
}

/** Looks inside a schema that is optional, may be null, or converts its result. */
function objectOf(definition: SchemaDefinition | undefined): SchemaDefinition | undefined {
  let at = definition;
  while (at && !at.shape) at = definitionOf(at.innerType ?? at.in);
  return at;
}

/**
 * Creates the answer to an object with at least one fault.
 *
 * @param subject the subject of the text, such as `the request for a token`.
 * @param hint the fix, in one sentence; by default the names of members, if one is not known.
 */
export function membersProblem(
  subject: string,
  faults: readonly MemberFault[],
  hint: string | null = hintOf(faults),
): Problem {
  const { member, detail } = faults[0]!;
  const count = faults.length === 1 ? "a fault" : `${faults.length} faults, the first`;
  const fault = member === "" ? `it ${detail}` : `${member} ${detail}`;
  const verb = /^the (?:secrets|arguments)/.test(subject) ? "have" : "has";
  return new Problem("request_invalid", `${subject} ${verb} ${count}: ${fault}`, {
    violations: reported(faults),
    ...(hint !== null && { hint }),
  });
}

function hintOf(faults: readonly MemberFault[]): string | null {
  const fault = faults.find(({ known = [] }) => known.length > 0);
  if (!fault) return null;
  const { member, known = [] } = fault;
  const parent = member.includes(".") ? ` of ${member.slice(0, member.lastIndexOf("."))}` : "";
  const names = listed(known, MAX_LISTED);
  return known.length === 1 ? `The only member${parent} is ${names}.` : `The members${parent} are ${names}.`;
}

function reported(faults: readonly MemberFault[]): object[] {
  return faults.slice(0, MAX_REPORTED).map(({ member, detail }) => ({ member, detail }));
}

/**
 * Rejects a request with faults, and reports all of them at once.
 *
 * @param subject the subject of the text, as in `membersProblem`.
 * @param lead the start of the text if the request only exceeds the token.
 * @throws {Problem} `request_invalid` if a member is invalid, `token_forbidden` if a token with more permissions could
 *   send the request.
 */
export function refuseFaults(
  subject: string,
  { invalid, exceeding }: RequestFaults,
  lead = "the token may not issue more than it has: ",
): void {
  if (invalid.length > 0) throw membersProblem(subject, [...invalid, ...exceeding]);
  if (exceeding.length === 0) return;
  const { member, detail } = exceeding[0]!;
  const count = exceeding.length === 1 ? "" : ` (the first of ${exceeding.length} faults)`;
  const fault = member === "" ? detail : `${member} ${detail}`;
  const hint = exceeding.find((each) => each.hint !== undefined)?.hint;
  throw new Problem("token_forbidden", `${lead}${fault}${count}`, {
    ...(hint !== undefined && { hint }),
    violations: reported(exceeding),
  });
}
