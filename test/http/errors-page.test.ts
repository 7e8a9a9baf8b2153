import assert from "node:assert/strict";
import { it } from "node:test";

import { Problem, type ProblemCode, PROBLEMS } from "../../src/errors.ts";
import { errorsPage } from "../../src/http/errors-page.ts";
import { problemAnswer } from "../../src/http/problem.ts";

it("the type of every problem document leads to the row of its code, with status, fault and title", () => {
  const page = errorsPage();
  for (const [code, { status, fault, title }] of Object.entries(PROBLEMS)) {
    const { type } = JSON.parse(problemAnswer(new Problem(code as ProblemCode, "")).body) as { type: string };
    const [, anchor] = type.split("#");
    const row = page.split("\n").filter((line) => line.includes(`id="${anchor}"`));
    assert.equal(row.length, 1, `${code} has ${row.length} rows`);
    for (const part of [`<code>${code}</code>`, `<td>${status}<`, `<td>${fault}<`, title]) {
      assert.ok(row[0]!.includes(part), `${part} is not in ${row[0]}`);
    }
  }
});

it("no title breaks out of the page", () => {
  for (const { title } of Object.values(PROBLEMS)) assert.doesNotMatch(title, /[<>&]/);
});
