import { printable, printableJson } from "../print/printable.ts";
import { bytesText, countText } from "../print/texts.ts";
import { lineDiff } from "./diff.ts";
import type { Step } from "./plan.ts";

/** Describes what a step does, with the changed lines. @returns text that ends with a line end */
export function stepText({ wanted, present, changes, request }: Step): string {
  const { name, file, source, isBundled } = wanted;
  if (changes.length === 0) return `= ${printable(name)}  version ${present!.version}, unchanged\n`;
  const head = present === null ? `+ ${name}  new, ${sizeText(source.code)}` : `~ ${name}  version ${present.version}`;
  const lines = [printable(`${head}  (${file})`)];
  for (const change of changes) {
    if (change === "code") lines.push(...(present === null ? [] : codeLines(step(wanted, present), isBundled)));
    else if (change === "secrets") lines.push(`    secrets: ${Object.keys(request.secrets ?? {}).join(", ")}`);
    else
      lines.push(
        memberLine(change, present?.[change as keyof typeof present], request[change as keyof typeof request]),
      );
  }
  return `${lines.join("\n")}\n`;
}

interface Texts {
  readonly before: string;
  readonly after: string;
}

/** Returns the texts of code and modules before and after, by name. */
function step({ source }: Step["wanted"], present: NonNullable<Step["present"]>): ReadonlyMap<string, Texts> {
  const names = new Set([...Object.keys(present.modules ?? {}), ...Object.keys(source.modules ?? {})]);
  const modules = [...names].map((name): [string, Texts] => [
    name,
    { before: present.modules?.[name] ?? "", after: source.modules?.[name] ?? "" },
  ]);
  return new Map([["code", { before: present.code ?? "", after: source.code }], ...modules]);
}

function codeLines(texts: ReadonlyMap<string, Texts>, isBundled: boolean): string[] {
  return [...texts].flatMap(([name, { before, after }]) => {
    if (before === after) return [];
    if (isBundled) return [`    ${name}: ${sizeText(before)} -> ${sizeText(after)}`];
    return [`    ${printable(name)}:`, ...lineDiff(before, after).map((line) => `    ${printable(line)}`)];
  });
}

function memberLine(name: string, before: unknown, after: unknown): string {
  const old = before === undefined ? "" : `${printableJson(before, 0)} -> `;
  return `    ${name}: ${old}${printableJson(after, 0)}`;
}

function sizeText(code: string): string {
  return `${countText(code.trimEnd().split("\n").length, "line")}, ${bytesText(Buffer.byteLength(code))}`;
}
