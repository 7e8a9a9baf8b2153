import type { RunRecord } from "../../records/record.ts";
import { cut } from "./cut.ts";
import { MAX_TEXT_BYTES } from "./refused.ts";
import type { ToolResult } from "./tool.ts";

/** The record of a run, as its caller may see it. */
export type ShownRecord = Omit<RunRecord, "console"> & {
  readonly console: RunRecord["console"] | null;
  readonly result?: unknown;
  readonly resultEncoding?: "base64";
  readonly resultTruncated?: boolean;
};

/** The bytes of the parts of a text, which together are less than all of it. What one part does not use, the console may. */
const RESULT_BYTES = 4_096;
const ERROR_BYTES = 3_072;
const LAST_BYTES = 256;

/** The result of a tool that has run. Its structured content is the record. @param json the record as JSON */
export function recordResult(record: ShownRecord, json: string): ToolResult {
  const isError = record.status !== "ok";
  const text = textOf(record);
  return { content: [{ type: "text", text }], structuredTexts: [json], ...(isError && { isError }) };
}

/** Returns what a model reads: the result or the error first, then the console, then the run. */
export function textOf(record: ShownRecord): string {
  const { run, status, ms, console, dropped, error, hint } = record;
  const first = error === null ? resultText(record) : cut(errorText(record), ERROR_BYTES);
  const notes = [
    ...(hint === null || hint === error?.hint ? [] : [`hint: ${hint}`]),
    `run ${run}: ${status}${ms.run === null ? "" : ` after ${Math.round(ms.run)} ms`}`,
  ];
  const last = cut(notes.join("\n"), LAST_BYTES * 2);
  const room = MAX_TEXT_BYTES - Buffer.byteLength(first) - Buffer.byteLength(last) - LAST_BYTES;
  const lines = console ?? [];
  if (lines.length === 0) return `${first}\n\n${last}`;
  const lost = dropped && dropped.lines > 0 ? `, ${dropped.lines} more were dropped` : "";
  return `${first}\n\nconsole (${lines.length} ${lines.length === 1 ? "line" : "lines"}${lost}):\n${cut(consoleText(lines, room), room)}\n\n${last}`;
}

function resultText({ status, result, resultType, resultEncoding, resultTruncated, response }: ShownRecord): string {
  const notes: string[] = [];
  if (response) notes.push(`HTTP status ${response.status}`);
  if (resultEncoding === "base64") notes.push(`${resultType ?? "bytes"} as base64`);
  if (resultTruncated) notes.push("only the beginning of the result");
  const note = notes.length === 0 ? "" : `(${notes.join(", ")})\n`;
  if (status !== "ok" && (result ?? null) === null) return `${note}no result`;
  const text = typeof result === "string" ? result : JSON.stringify(result ?? null);
  return note + cut(text, RESULT_BYTES);
}

function errorText({ error }: ShownRecord): string {
  const { code, name, message, hint, at } = error!;
  const lines = [`${name === null ? "error" : name}: ${message} (${code})`];
  if (at) lines.push(`at ${at.file}:${at.line}:${at.column}`);
  if (at?.frame) lines.push(at.frame);
  if (hint !== null) lines.push(`hint: ${hint}`);
  return lines.join("\n");
}

/**
 * Returns the first and the last lines of a console. Further lines of a text are indented, so that no text can pretend to be
 * another part of the result.
 */
function consoleText(lines: readonly { readonly level: string; readonly text: string }[], room: number): string {
  const shown = lines.length > 2 * MAX_LINES ? [...lines.slice(0, MAX_LINES), null, ...lines.slice(-MAX_LINES)] : lines;
  const texts = shown.map((line) => {
    if (line === null) return `… ${lines.length - 2 * MAX_LINES} lines left out …`;
    return `${line.level}: ${cut(line.text, room).replaceAll("\n", "\n  ")}`;
  });
  return texts.join("\n");
}

/** The most lines at the beginning and at the end. */
const MAX_LINES = 100;
