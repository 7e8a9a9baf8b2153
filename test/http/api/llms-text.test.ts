import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { it } from "node:test";

import { llmsDocument } from "../../../scripts/llms-document.ts";

it("llms.txt is up to date with the page of the service and the documents", async () => {
  assert.equal(await readFile("llms.txt", "utf8"), llmsDocument(), "run npm run docs");
});
