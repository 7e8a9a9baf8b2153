import { formBodyText } from "../wire/form-text.ts";
import type { FaultMessage } from "../wire/messages.ts";
import { contextOf } from "./context.ts";
import type { Emptied } from "./emptied.ts";
import { type MemberRead, memberReads } from "./member-reads.ts";
import type { Run } from "./run.ts";

/** A longer text is not looked at, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 32 * 1024;
const OF_UNDEFINED = /^Cannot (?:read|set) properties of undefined \((?:reading|setting) '([\w$]{1,64})'\)$/;
const NO_PARTS = /^Cannot destructure property '[\w$]{1,64}' of '([\w$.?]{1,100})' as it is undefined\.$/;
/** A type that a hint repeats. */
const TYPE = /^[\w.+-]{1,40}\/[\w.+-]{1,60}/;
/** Members that a text has, too. */
const OF_TEXTS: object = String.prototype;

/** Returns the hint for an error because of a member of a body that is a text, or undefined. Never throws. */
export function textBodyHint(text: string, { code, error, at }: FaultMessage, run: Run): string | undefined {
  try {
    if (code !== "task_threw" || error?.name !== "TypeError") return undefined;
    const member = OF_UNDEFINED.exec(error.message)?.[1];
    const whole = NO_PARTS.exec(error.message)?.[1];
    if (member === undefined && whole === undefined) return undefined;
    const line = at && /^task\.[jt]s$/.test(at.file) ? (text.split("\n")[at.line - 1] ?? "") : "";
    const read = readsOfText(text, run).find((each) =>
      member === undefined ? isCalled(each, whole!) : readsMember(line === "" ? text : line, each, member),
    );
    return read && textBodyText(read.name, run);
  } catch {
    // A task has replaced a method of texts, lists or patterns.
    return undefined;
  }
}

/** Returns the hint for a result that lacks a member of a body that is a text of JSON, or null. Never throws. */
export function textBodyResult(text: string, run: Run): Emptied | null {
  try {
    const { body } = run.request();
    const isForm = hasParts(run);
    if (typeof body !== "string" || !(isForm || /^\s*[{[]/.test(body))) return null;
    const read = readsOfText(text, run).find(({ isTested }) => !isTested);
    return read ? { hint: isForm ? "formBody" : "textBody", path: `.${read.source}.${read.name}` } : null;
  } catch {
    // A task has replaced a method of texts, lists or patterns.
    return null;
  }
}

/** Returns the hint for a member that a body lacks because it is a text. */
export function textBodyText(name: string, run: Run): string {
  if (hasParts(run)) return formBodyText(name);
  const { body, headers } = run.request();
  const type = TYPE.exec(headers["content-type"] ?? "")?.[0];
  const came = type === undefined || /json/i.test(type) ? "" : `, because it came as ${type}`;
  const how = typeof body === "string" && came !== "" ? "" : ", in an envelope as an object in data";
  return `context.body is a text${came}, so it has no ${name}: send JSON with Content-Type: application/json${how}, or parse the text with JSON.parse.`;
}

/** Whether the body is a form with parts, as `curl -F` sends it. The service does not take it apart. */
function hasParts(run: Run): boolean {
  return /^multipart\/form-data\b/i.test(run.request().headers["content-type"] ?? "");
}

/** Returns the reads of members of a body that is a text, and that no text and no query has. */
function readsOfText(text: string, run: Run): readonly MemberRead[] {
  if (text.length > MAX_CHARACTERS) return [];
  const { body, data } = contextOf(run);
  if (typeof body !== "string") return [];
  // Only a text of JSON has members that may be meant by context.data.
  const isJson = /^\s*[{[]/.test(body);
  return memberReads(text).filter(
    ({ source, name }) =>
      (source === "body" && !(name in OF_TEXTS)) || (source === "data" && isJson && data[name] === undefined),
  );
}

function readsMember(text: string, { source, name, variable }: MemberRead, member: string): boolean {
  const owners = variable === null ? [] : [variable];
  return [`${source}.${name}`, ...owners].some((owner) => {
    const own = owner.replace(/[$.]/g, "\\$&");
    return new RegExp(String.raw`(?<![\w$])${own}\s*(?:\.\s*|\[\s*["']?)${escaped(member)}(?![\w$])`).test(text);
  });
}

function isCalled({ source, name, variable }: MemberRead, expression: string): boolean {
  return expression === variable || `.${expression}`.endsWith(`.${source}.${name}`);
}

function escaped(name: string): string {
  return name.replaceAll("$", "\\$");
}
