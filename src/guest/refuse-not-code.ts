import { type NotCode, notCode } from "../wire/not-code.ts";
import { CodeFault } from "./faults.ts";

const NOT_CODE_FAULTS: Readonly<Record<NotCode, { what: string; hint: string }>> = {
  fence: {
    what: "the code begins with a Markdown fence",
    hint: "Send only the text between the fences.",
  },
  page: {
    what: "the code is an HTML page",
    hint: "Only JavaScript and TypeScript run here. If the code came from a URL, the URL may return a page about the file.",
  },
  xml: {
    what: "the code is an XML document",
    hint: "Only JavaScript and TypeScript run here. If the code came from a URL, the URL may return an error of the file storage.",
  },
};

/** @throws {CodeFault} for a text that is something else than code. */
export function refuseNotCode(text: string): void {
  const kind = notCode(text);
  if (kind === null) return;
  const { what, hint } = NOT_CODE_FAULTS[kind];
  throw new CodeFault("code_syntax", what, { hint });
}
