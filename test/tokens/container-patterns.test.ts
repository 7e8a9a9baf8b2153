import assert from "node:assert/strict";
import { test } from "node:test";

import * as fc from "fast-check";

import { type Claims, permitsContainer } from "../../src/tokens/claims.ts";
import { ContainerPatterns } from "../../src/tokens/container-patterns.ts";

const anyName = fc.string({ unit: fc.constantFrom("a", "b", "-"), minLength: 1, maxLength: 4 });
const anyPattern = fc.oneof(
  anyName,
  anyName.map((name) => `${name}*`),
  fc.constant("*"),
);

test("the prepared patterns permit exactly the containers that the claims permit", () => {
  fc.assert(
    fc.property(
      fc.array(anyPattern, { minLength: 1, maxLength: 6 }),
      anyName,
      fc.boolean(),
      (containers, name, admin) => {
        const claims = { admin, containers };
        assert.equal(new ContainerPatterns(claims).has(name), permitsContainer(claims as unknown as Claims, name));
      },
    ),
  );
});

test("a name that a prefix covers is in no list of single names", () => {
  const { names, prefixes } = new ContainerPatterns({ admin: false, containers: ["acme-1", "acme-*", "b", "acme-1*"] });
  assert.deepEqual([[...names], prefixes], [["b"], ["acme-"]]);
});
