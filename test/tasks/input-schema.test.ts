import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { z } from "zod";

import { faultOfInputSchema } from "../../src/tasks/input-schema.ts";
import { faultOfToolName, OWN_TOOLS } from "../../src/tasks/tool-name.ts";

function object(members: object): object {
  return { type: "object", ...members };
}

function nested(levels: number): object {
  return levels === 0 ? { type: "object" } : object({ properties: { a: nested(levels - 1) } });
}

describe("the schema of an input", () => {
  it("may be what schema libraries write, in the dialects of 2020-12 and of draft 7", () => {
    const invoice = z.object({
      customer: z.email(),
      lines: z.array(z.object({ text: z.string().max(80), cents: z.int().min(1) })).min(1),
      kind: z.enum(["draft", "final"]).default("draft"),
      due: z.iso.date().optional(),
    });
    const node = z.object({
      name: z.string().regex(/^[a-z]+$/),
      get children() {
        return z.array(node).optional();
      },
    });
    for (const target of ["draft-2020-12", "draft-7"] as const) {
      assert.equal(faultOfInputSchema(z.toJSONSchema(invoice, { target })), null);
      assert.equal(faultOfInputSchema(z.toJSONSchema(node, { target })), null);
    }
    assert.equal(faultOfInputSchema(object({ "x-order": 1, if: true, else: false, items: [true] })), null);
  });

  const FAULTS: [title: string, schema: unknown, fault: RegExp][] = [
    ["of a text", "object", /^must be a JSON Schema/],
    ["of another type", { type: "string" }, /^must have the type "object"/],
    ["without a type", {}, /^must have the type "object"/],
    ["of a misspelled keyword", object({ requierd: ["a"] }), /^at requierd: is no keyword .*did you mean required\?/],
    [
      "of a keyword below",
      object({ properties: { a: { minimum: "1" } } }),
      /^at properties\.a\.minimum: must be a number/,
    ],
    ["of a schema that is none", object({ anyOf: [{}, 1] }), /^at anyOf\.1: must be a schema/],
    ["of a list that is none", object({ oneOf: {} }), /^at oneOf: must be an array of schemas/],
    [
      "of an unknown type",
      object({ properties: { a: { type: "int" } } }),
      /^at properties\.a\.type: must be one of object/,
    ],
    [
      "of a regular expression",
      object({ properties: { a: { pattern: "(" } } }),
      /pattern: must be a regular expression/,
    ],
    [
      "of more properties of Unicode than the service compiles in a moment",
      object({
        properties: { a: { pattern: String.raw`\p{C}`.repeat(33) }, b: { pattern: String.raw`[\P{L}]`.repeat(32) } },
      }),
      /^uses 65 properties of Unicode such as \\p\{L\} in its regular expressions; at most 64 are allowed/,
    ],
    ["of a name that is a regular expression", object({ patternProperties: { "[": {} } }), /regular expression/],
    [
      "that another service must supply",
      object({ $ref: "https://example.com/a.json" }),
      /^at \$ref: must begin with #/,
    ],
    ["of a reference to nothing", object({ $ref: "#/$defs/a" }), /^at \$ref: leads to no schema/],
    ["of a reference to a prototype", object({ $ref: "#/constructor" }), /^at \$ref: leads to no schema/],
    ["of an escape in a reference", object({ $ref: "#/%E0%A4%A" }), /^at \$ref: leads to no schema/],
    ["with another base", object({ $id: "https://example.com/" }), /^at \$id: is no keyword that is supported here/],
    ["of headers", object({ properties: { a: { "x-mcp-header": "A" } } }), /x-mcp-header: is no keyword/],
    [
      "of an unknown dialect",
      object({ $schema: "https://json-schema.org/draft/next" }),
      /^at \$schema: must be the URL/,
    ],
    ["that is too long", object({ description: "a".repeat(16_384) }), /^has \d+ bytes as JSON; at most 16384/],
    ["that is too deep", nested(20), /^has more than 32 levels/],
  ];
  for (const [title, schema, fault] of FAULTS) {
    it(`has a fault ${title}`, () => assert.match(faultOfInputSchema(schema) ?? "none", fault));
  }
});

describe("the name of a tool", () => {
  it("is one that all clients accept, and none that the service has itself", () => {
    for (const name of ["a", "send-invoice_2", "A".repeat(64)]) assert.equal(faultOfToolName(name), null, name);
    for (const name of ["a.b", "a@b", "A".repeat(65)]) assert.match(faultOfToolName(name)!, /letters, digits/, name);
    for (const name of OWN_TOOLS) assert.match(faultOfToolName(name)!, /requires another name/);
  });
});
