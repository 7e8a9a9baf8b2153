import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { it } from "node:test";

import { settingsDocument } from "../scripts/settings-document.ts";
import { SETTINGS } from "../src/config.ts";
import { variableName } from "../src/config/read.ts";

it("docs/reference/settings.md is up to date with the table of settings", async () => {
  assert.equal(await readFile("docs/reference/settings.md", "utf8"), settingsDocument(), "run npm run docs");
});

it("the page of settings has one row for each setting, with flag, variable and meaning", () => {
  const rows = settingsDocument()
    .split("\n")
    .filter((line) => line.startsWith("| `"));
  assert.equal(rows.length, Object.keys(SETTINGS).length);
  for (const [key, { flag }] of Object.entries(SETTINGS)) {
    const own = rows.filter((line) => line.startsWith(`| \`${flag}\` `));
    assert.equal(own.length, 1, `${flag} has ${own.length} rows`);
    assert.ok(own[0]!.includes(`\`${variableName(key)}\``), own[0]);
  }
});
