import assert from "node:assert/strict";
import { it } from "node:test";

import { misspelt } from "../../src/builder/open-builder.ts";

it("a package that the registry lacks, or has without a version, has the hint of the popular package that is near", () => {
  assert.equal(misspelt("the package lodahs does not exist at the registry"), "Did you mean lodash?");
  assert.equal(misspelt('no version of lodahs is "*"'), "Did you mean lodash?");
  assert.equal(misspelt('no version of lodash is "*"'), null);
  assert.equal(
    misspelt('no version of Zod is "^4", of those that are older'),
    "npm has names in lower case; did you mean zod?",
  );
  assert.equal(misspelt("lodahs@1.0.0 has no tarball"), null);
});
