import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Problem } from "../../src/errors.ts";
import { readPermit } from "../../src/package-names.ts";
import {
  defaultRange,
  type PackagePolicy,
  type PackagesClaim,
  permitsNoMore,
  requirePermitted,
} from "../../src/packages/policy.ts";

const LISTED: PackagePolicy = { mode: "listed", allow: ["zod", "lodash@4", "@acme/*"] };
const ANY: PackagePolicy = { mode: "any", allow: [] };

/** Returns the text of the refusal, or null. */
function refusal(ranges: Record<string, string>, policy: PackagePolicy, claim: PackagesClaim = null): string | null {
  try {
    requirePermitted({ ranges }, policy, claim);
    return null;
  } catch (error) {
    assert.ok(error instanceof Problem && error.code === "packages_forbidden");
    return error.message;
  }
}

/** Returns the hint of the refusal. */
function hintOf(name: string, claim: PackagesClaim = null): string | undefined {
  try {
    requirePermitted({ ranges: { [name]: "*" } }, LISTED, claim);
  } catch (error) {
    return (error as Problem).options.hint;
  }
  return undefined;
}

describe("requirePermitted", () => {
  for (const [name, range] of [
    ["zod", "*"],
    ["zod", "latest"],
    ["zod", "^3 || ^4"],
    ["lodash", "4"],
    ["lodash", "^4.17.0"],
    ["lodash", "4.17.21"],
    ["@acme/tools", "next"],
  ] as const) {
    it(`permits ${name}@${range}`, () => assert.equal(refusal({ [name]: range }, LISTED), null));
  }

  for (const [name, range, why] of [
    ["left-pad", "1", "the package left-pad is not permitted: --npm-allow does not list it"],
    [
      "lodash",
      "3",
      "the package lodash is not permitted: --npm-allow permits only the range 4, and the range 3 is not within it",
    ],
    [
      "lodash",
      "*",
      "the package lodash is not permitted: --npm-allow permits only the range 4, and the range * is not within it",
    ],
    [
      "lodash",
      "latest",
      "the package lodash is not permitted: --npm-allow permits only the range 4, and the tag latest, whose version changes, is not within it",
    ],
    ["@acmes/tools", "1", "the package @acmes/tools is not permitted: --npm-allow does not list it"],
    ["acme", "1", "the package acme is not permitted: --npm-allow does not list it"],
  ] as const) {
    it(`refuses ${name}@${range} and names the setting`, () => assert.equal(refusal({ [name]: range }, LISTED), why));
  }

  for (const [permit, range] of [
    ["2.2.2-a - 3.2.3", "=3.2.0-a >1.2||4.2.4 - 3.2.4-a.1"],
    ["x||2.x 0.x||3.3", "=2.0.2-a ~>2||3.3"],
    ["^4", "^4.0.0-beta"],
  ] as const) {
    it(`refuses the pre-releases of ${range}, which ${permit} does not name`, () => {
      assert.match(
        refusal({ lodash: range }, { mode: "listed", allow: [`lodash@${permit}`] }) ?? "",
        /is not within it/,
      );
    });
  }

  it("permits the pre-releases of a permitted range", () => {
    assert.equal(refusal({ lodash: "^4.0.0-beta.1" }, { mode: "listed", allow: ["lodash@^4.0.0-alpha"] }), null);
  });

  it("names the permitted package that is probably meant, or the command that permits it", () => {
    assert.equal(hintOf("zood"), "Did you mean zod? It is permitted.");
    assert.match(hintOf("left-pad") ?? "", /^An administrator permits it with caisson packages add left-pad\./);
    assert.match(
      hintOf("axois") ?? "",
      /^Did you mean axios\? An administrator permits it with caisson packages add axios\./,
    );
    assert.equal(hintOf("Zod"), "Did you mean zod? It is permitted.");
    assert.equal(
      hintOf("Dayjs"),
      "npm has names in lower case; did you mean dayjs? An administrator permits it with caisson packages add dayjs.",
    );
    assert.match(hintOf("JSONStream") ?? "", /^An administrator permits it with caisson packages add JSONStream\./);
    assert.doesNotMatch(hintOf("zood", ["lodash@4"]) ?? "", /zod\?/, "the token does not permit zod");
    const more = "An administrator permits all versions with caisson packages add lodash.";
    assert.equal(hintOf("lodash"), `Name a range within 4. ${more}`);
    assert.equal(hintOf("zod", ["zod@4"]), "Name a range within 4. Ask for a token that permits it.");
  });

  it("refuses all packages with --npm none, whatever the list has", () => {
    const none: PackagePolicy = { mode: "none", allow: ["zod"] };
    assert.match(refusal({ zod: "4" }, none) ?? "", /the operator permits no packages \(--npm none\)/);
  });

  it("permits all packages with --npm any, and narrows them by the claim", () => {
    assert.equal(refusal({ "left-pad": "1" }, ANY), null);
    assert.match(refusal({ zod: "4" }, ANY, false) ?? "", /its claim packages is false/);
    assert.equal(refusal({ zod: "4" }, ANY, ["zod@4"]), null);
    assert.match(
      refusal({ zod: "3" }, ANY, ["zod@4"]) ?? "",
      /the claim packages of the token permits only the range 4/,
    );
    assert.match(refusal({ lodash: "4" }, LISTED, ["zod"]) ?? "", /the claim packages of the token does not list it/);
  });

  it("never widens the list of the operator by the claim", () => {
    assert.match(refusal({ "left-pad": "1" }, LISTED, ["left-pad"]) ?? "", /--npm-allow does not list it/);
  });
});

describe("defaultRange", () => {
  it("is the range of the claim, then that of the list, then any", () => {
    assert.equal(defaultRange("lodash", LISTED, null), "4");
    assert.equal(defaultRange("lodash", LISTED, ["lodash@4.17"]), "4.17");
    assert.equal(defaultRange("zod", LISTED, null), "*");
    assert.equal(defaultRange("lodash", ANY, null), "*");
  });
});

describe("readPermit", () => {
  for (const text of [
    "*",
    "zod@",
    "zod@nonsense/x",
    "@acme",
    "@*/x",
    "@acme/*@1",
    "../x",
    "__proto__",
    "https://a",
    "a b",
    `a@${"1".repeat(400)}`,
  ]) {
    it(`rejects ${text.slice(0, 40)}`, () => assert.equal(readPermit(text), null));
  }
});

describe("permitsNoMore", () => {
  it("does not compare more ranges than it can in a moment", () => {
    const above = Array.from({ length: 100 }, (_, at) => `zod@${at}`);
    const below = Array.from({ length: 100 }, (_, at) => `zod@${at}.1`);
    assert.equal(permitsNoMore(below, above), null);
    assert.equal(permitsNoMore(below.slice(0, 2), above), true);
    assert.equal(permitsNoMore(above, above), true);
    assert.equal(permitsNoMore(above, ["zod"]), true);
    assert.equal(permitsNoMore(["zod@1", "zod@3"], ["zod@1", "zod@2"]), false);
  });

  it("compares a hundred packages that have one range each", () => {
    const above = Array.from({ length: 100 }, (_, at) => `a${at}@${at}`);
    assert.equal(
      permitsNoMore(
        above.map((entry) => `${entry}.1`),
        above,
      ),
      true,
    );
    assert.equal(permitsNoMore([...above.slice(1), "a0@1"], above), false);
  });
});
