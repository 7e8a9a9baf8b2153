import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { it } from "node:test";

import { errorsDocument } from "../../../scripts/errors-document.ts";
import { type ProblemCode, PROBLEMS } from "../../../src/error-codes.ts";
import { Problem } from "../../../src/errors.ts";
import { errorsPage } from "../../../src/http/api/errors-page.ts";
import { problemAnswer } from "../../../src/http/problem.ts";

it("the type of every problem document links to the row of its code, with status, fault and title", () => {
  const page = errorsPage();
  for (const [code, { status, fault, title, help }] of Object.entries(PROBLEMS)) {
    const { type } = JSON.parse(problemAnswer(new Problem(code as ProblemCode, "")).body) as { type: string };
    const [, anchor] = type.split("#");
    const row = page.split("\n").filter((line) => line.includes(`id="${anchor}"`));
    assert.equal(row.length, 1, `${code} has ${row.length} rows`);
    for (const part of [`<code>${code}</code>`, `<td>${status}<`, `<td>${fault}<`, title, help]) {
      assert.ok(row[0]!.includes(part), `${part} is not in ${row[0]}`);
    }
  }
});

it("no text contains a character that has a meaning in HTML or Markdown", () => {
  for (const { title, help } of Object.values(PROBLEMS)) assert.doesNotMatch(title + help, /[<>&|`]/);
});

it("docs/reference/errors.md is up to date with the table of errors", async () => {
  assert.equal(await readFile("docs/reference/errors.md", "utf8"), errorsDocument(), "run npm run docs");
});
