import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { transform as esbuild, type TransformFailure } from "esbuild";

import { type Code, codeOf } from "../../../src/containers/guest/code-table.ts";
import { Guest } from "../../../src/containers/guest/guest.ts";
import type { Rejection, Text } from "../../../src/packages/model.ts";
import { Transforms } from "../../../src/packages/transforms.ts";
import { textFrame } from "../../../src/wire/frames.ts";
import { FROM_GUEST } from "../../../src/wire/messages.ts";
import { artefactOf } from "../../artefact.ts";
import { until } from "../../contract/until.ts";
import { FuzzedGuest } from "../../hostile/fuzzed-guest.ts";
import { LIMITS } from "../puppet.ts";
import { openRealGuests, type RealGuests } from "../real-guests.ts";
import { Recorder } from "../recorder.ts";

/** What the builder was asked for: the loaders of the texts and the family. */
const asked: string[] = [];
/** The signal of the latest text. */
let latest: AbortSignal | null = null;
/** Texts that the builder does not answer before the test lets it. */
let gate: PromiseWithResolvers<void> | null = null;

/** Makes JavaScript as the builder does, in this process. */
async function transform(
  texts: readonly Text[],
  family: string,
  signal: AbortSignal,
): Promise<readonly string[] | Rejection> {
  asked.push(`${texts.map(({ loader }) => loader).join(" ")} ${family}`);
  latest = signal;
  await gate?.promise;
  const made: string[] = [];
  for (const [at, { text, loader }] of texts.entries()) {
    try {
      const options = { target: "node24", sourcemap: "inline", sourcesContent: false, sourcefile: "task" } as const;
      made.push((await esbuild(text, { loader, ...options, logLevel: "silent" })).code);
    } catch (error) {
      const { text: why, location } = (error as TransformFailure).errors[0]!;
      const { line, column } = location!;
      return { rejected: `${why} (line ${line}, column ${column + 1})\nthe line\n  ^`, at };
    }
  }
  return made;
}

let guests: RealGuests;
let guest: Guest;
before(async () => {
  const transforms = new Transforms(transform);
  guests = await openRealGuests({ isolation: "none" }, (...call) => transforms.transform(...call));
  guest = await guests.make();
});
after(() => guests.close());

interface Texts {
  readonly modules?: Record<string, string>;
  readonly typescript?: boolean;
  readonly packages?: NonNullable<Code["packages"]>;
  readonly parseOnly?: boolean;
  readonly lastValue?: boolean;
}

function begin(source: string, { modules = {}, ...rest }: Texts = {}, where: Guest = guest): Recorder {
  const recorder = new Recorder();
  const code = codeOf({ source: Buffer.from(source), typescript: false, modules, packages: null, ...rest });
  recorder.id = where.run(code, () => "{}", recorder, performance.now(), { family: "root" });
  return recorder;
}

/** Returns the result, or the fault as file, line, column and message. */
async function outcome(source: string, texts: Texts = {}): Promise<unknown> {
  const recorder = begin(source, texts);
  const event = await recorder.outcome();
  if (event.startsWith("result ")) return JSON.parse(event.slice("result ".length)) as unknown;
  const problem = recorder.problems[0]!;
  const { at } = problem.options;
  return [at?.file, at?.line, at?.column, problem.message.split("\n")[0]];
}

const H = "const h = (tag, props, ...children) => [tag, props, ...children];\n/** @jsx h */\n";
const LOGGED = `
function logged(method: () => number, context: ClassMethodDecoratorContext) {
  return function (this: unknown): number { return method.call(this) + 1; };
}
class Sizes {
  @logged small(): number { return 1; }
}
`;

describe("code with decorators or JSX", () => {
  const texts: [string, string, unknown, Texts?][] = [
    ["a body with JSX", `${H}return <b>1</b>;`, ["b", null, "1"]],
    ["a body with JSX that awaits", `${H}return await <b>2</b>;`, ["b", null, "2"]],
    ["a module with JSX", `${H}export default () => <b a="3"/>;`, ["b", { a: "3" }]],
    ["JSX before a comment", `${H}const one = 1;\nreturn <b>{one}</b>; // one`, ["b", null, 1]],
    ["JSX that could be a cast", `${H}const two = 2;\nreturn <b>2</b>; // two`, ["b", null, "2"]],
    ["CommonJS with JSX", `${H}module.exports = async () => <b>4</b>;`, ["b", null, "4"]],
    ["an expression with JSX", "((React) => <b>5</b>)({ createElement: (...all) => all })", ["b", null, "5"]],
    [
      "JSX with types",
      `${H}interface A { b: string }\nconst a: A = { b: "6" };\nreturn <b>{a.b}</b>`,
      ["b", null, "6"],
    ],
    ["the last value", `${H}<b>7</b>`, ["b", null, "7"], { lastValue: true }],
    ["a body with a decorator", `${LOGGED}return new Sizes().small()`, 2],
    ["a module with a decorator", `${LOGGED}export default () => new Sizes().small()`, 2],
    ["a decorator as TypeScript", `${LOGGED}enum A { B = 2 }\nexport default A.B`, 2, { typescript: true }],
  ];
  for (const [what, text, expected, options] of texts) {
    it(`runs: ${what}`, async () => {
      assert.deepEqual(await outcome(text, options), expected);
    });
  }

  it("runs in submitted modules, by the extension of their names", async () => {
    const modules = {
      "./view.tsx": "import { h } from './h.js';\n/** @jsx h */\nexport const view = (name: string) => <p>{name}</p>;",
      "./old.jsx": "import { h } from './h.js';\n/** @jsx h */\nexport const old = () => <i/>;",
      "./sizes.ts": `${LOGGED}export const size = new Sizes().small();`,
      "./h.js": "export const h = (...all) => all",
    };
    const code = `import { view } from "./view"; import { old } from "./old.jsx"; import { size } from "./sizes.ts";
      export default () => [view("a"), old(), size]`;
    assert.deepEqual(await outcome(code, { modules }), [["p", null, "a"], ["i", null], 2]);
  });

  it("calls the functions of the package that the code has", async () => {
    const packages = { key: "hono", artefact: await artefactOf(["hono/jsx", "hono/jsx/jsx-runtime"]) };
    assert.equal(
      await outcome('export default () => String(<b class="x">{1 + 1}</b>)', { packages }),
      '<b class="x">2</b>',
    );
    assert.equal(await outcome("return String(<><i>3</i></>)", { packages }), "<i>3</i>");
    assert.equal(await outcome("String(<u>4</u>)", { packages }), "<u>4</u>");
  });

  it("has the lines and columns of the author in errors", async () => {
    const lines = "\n\nconst f = () => {\n  throw new Error('here');\n};\n";
    assert.deepEqual(await outcome(`${H}${lines}return <b>{f()}</b>`), ["task.js", 6, 9, "the task threw Error: here"]);
    assert.deepEqual(await outcome(`throw new Error(String(<b/>)); enum A {}`), [
      "task.js",
      1,
      24,
      "the task threw ReferenceError: React is not defined",
    ]);
    const modules = { "./v.tsx": `/** @jsx h */\nexport const v = (): unknown => {\n  return <b>{null!.x}</b>;\n};` };
    const code = "globalThis.h = () => 1;\nconst { v } = await import('./v.tsx'); return v()";
    assert.deepEqual(((await outcome(code, { modules })) as unknown[]).slice(0, 2), ["v.tsx", 3]);
    const decorated = `${LOGGED}export default () => { null.x; }`;
    assert.deepEqual(((await outcome(decorated)) as unknown[]).slice(0, 2), ["task.js", 8]);
  });

  it("has the position of a mistake in the text", async () => {
    assert.deepEqual(await outcome("const a = <div>\n  <b>\n</div>;\nreturn a"), [
      "task.js",
      3,
      3,
      'Unexpected closing "div" tag does not match opening "b" tag (line 3, column 3)',
    ]);
    const modules = { "./bad.tsx": "export const a = <b></i>" };
    const code = 'import { a } from "./bad.tsx"; export default a';
    assert.deepEqual(((await outcome(code, { modules })) as unknown[]).slice(0, 3), ["bad.tsx", 1, 23]);
  });

  it("is parsed and not evaluated by a check", async () => {
    assert.equal(await outcome("return <b>{globalThis.evaluated = true}</b>", { parseOnly: true }), null);
    assert.equal(await outcome("return globalThis.evaluated ?? null"), null);
    const missing = await outcome('import x from "nowhere"; export default <b>{x}</b>', { parseOnly: true });
    assert.match(String(missing), /there is no module "nowhere"/);
  });

  it("is made for each family apart, so that its time shows nothing of other families", async () => {
    const transforms = new Transforms(transform);
    const text = { text: "const own: number = 1;", loader: "ts" } as const;
    asked.length = 0;
    const made: unknown[] = [];
    for (const family of ["one", "other", "one"])
      made.push(await transforms.transform([text], family, new AbortController().signal));
    assert.deepEqual(asked, ["ts one", "ts other"]);
    assert.deepEqual(made[2], made[1]);
  });

  it("is made once for runs at the same time, and for all guests, in the name of the family", async () => {
    const text = `${H}return <b>once</b>;`;
    asked.length = 0;
    const runs = [begin(text), begin(text), begin(text)];
    for (const run of runs) assert.equal(await run.outcome(), 'result ["b",null,"once"]');
    const other = await guests.make();
    assert.equal(await begin(text, {}, other).outcome(), 'result ["b",null,"once"]');
    assert.deepEqual(asked, ["tsx root"]);
  });

  it("is made in one order from all texts of a code, less those that are made", async () => {
    const modules = Object.fromEntries(
      Array.from({ length: 200 }, (_, at) => [
        `./m${at}.tsx`,
        `/** @jsx h */\nexport const m${at} = () => <i>{${at}}</i>;`,
      ]),
    );
    const names = Object.keys(modules).map((name, at) => `import { m${at} } from ${JSON.stringify(name)};`);
    const sum = Object.keys(modules).map((_, at) => `m${at}()`);
    const code = `${names.join("")}globalThis.h = (tag, _, value) => value; export default () => ${sum.join(" + ")};`;
    asked.length = 0;
    assert.deepEqual(await outcome(code, { modules }), 19_900);
    assert.deepEqual(asked, [`${"tsx ".repeat(200)}root`]);
    const others = {
      "./m1.tsx": modules["./m1.tsx"]!,
      "./other.tsx": "/** @jsx h */\nexport const other = () => <i>{5}</i>;",
    };
    const two =
      'import { m1 } from "./m1.tsx"; import { other } from "./other.tsx"; export default () => m1() + other();';
    assert.deepEqual(await outcome(two, { modules: others }), 6);
    assert.deepEqual(asked.slice(1), ["tsx root"]);
    const faulty = { ...others, "./bad.tsx": "export const a = <u></i>", "./more.tsx": "export const c = <i/>" };
    for (let run = 0; run < 2; run++) {
      const fault = await outcome('import { a } from "./bad.tsx"; export default a', { modules: faulty });
      assert.deepEqual((fault as unknown[]).slice(0, 2), ["bad.tsx", 1]);
    }
    assert.deepEqual(asked.slice(2), ["tsx tsx root"], "a rejected text is known");
  });

  it("goes on if the run that asked has ended, and another one asks at once", async () => {
    const text = `${H}return <b>gone</b>;`;
    gate = Promise.withResolvers();
    asked.length = 0;
    const first = begin(text);
    const second = begin(text);
    await until(() => guest.inFlight.get(first.id)!.transforming !== null, "the first run waits for the builder");
    guest.inFlight.abandon(first.id);
    await until(() => guest.inFlight.get(second.id)!.transforming !== null, "the second run waits for the builder");
    gate.resolve();
    gate = null;
    assert.equal(await second.outcome(), 'result ["b",null,"gone"]');
    assert.deepEqual(asked, ["tsx root"]);
  });

  it("is dropped a second after no run waits for it any more", async () => {
    gate = Promise.withResolvers();
    const runs = [guest, await guests.make()].map((where) => {
      return { where, id: begin(`${H}return <b>left</b>;`, {}, where).id };
    });
    const all = (): boolean => runs.every(({ where, id }) => where.inFlight.get(id)!.transforming !== null);
    await until(all, "both runs wait for the builder");
    runs[0]!.where.inFlight.abandon(runs[0]!.id);
    assert.equal(latest!.aborted, false);
    runs[1]!.where.inFlight.abandon(runs[1]!.id);
    assert.equal(latest!.aborted, false);
    await until(() => latest!.aborted, "the builder is aborted");
    gate.resolve();
    gate = null;
  });

  it("is a fault of the code if the service has no builder, with the hint to bundle it", async () => {
    const without = await new Guest(await guests.sandbox.launch(), LIMITS).ready();
    guests.made.add(without);
    const recorder = begin("return <b>1</b>", {}, without);
    assert.equal(await recorder.outcome(), "code_syntax");
    assert.match(recorder.problems[0]!.options.hint!, /--bundle/);
  });

  it("that is long is a fault of the code, so that its text does not fill the memory of the service", async () => {
    const recorder = begin(`${H}return <b>1</b>; // ${"x".repeat(262_144)}`);
    assert.equal(await recorder.outcome(), "code_syntax", recorder.problems[0]!.message);
    assert.match(recorder.problems[0]!.message, /JSX is not JavaScript/);
  });
});

function message(value: object): Buffer {
  return textFrame(FROM_GUEST.transform, 0, JSON.stringify(value));
}

describe("a forged request for JavaScript", () => {
  const main = { loader: "ts", isBody: false };

  it("never makes the builder work for a text that the run does not have", async () => {
    asked.length = 0;
    const forged: object[] = [
      { main: null, modules: { "./other.ts": main }, jsxImportSource: null },
      { main: null, modules: { __proto__: null, constructor: main }, jsxImportSource: null },
      { main: { loader: "css", isBody: false }, modules: {}, jsxImportSource: null },
      { main, modules: {}, jsxImportSource: "evil */ process.exit()" },
      { main: null, modules: {}, jsxImportSource: null },
    ];
    for (const each of forged) {
      const fuzzed = await FuzzedGuest.make(undefined, transform, "@x class A {}");
      const run = fuzzed.start();
      const frame = message(each);
      frame.writeUInt32LE(run.id, 5);
      await fuzzed.write([frame]);
      assert.equal(fuzzed.guest.ended, true, JSON.stringify(each));
    }
    assert.deepEqual(asked, []);
  });

  it("is answered once for each run", async () => {
    const fuzzed = await FuzzedGuest.make(undefined, transform, "@x class A {}");
    const run = fuzzed.start();
    const frame = message({ main, modules: {}, jsxImportSource: null });
    frame.writeUInt32LE(run.id, 5);
    await fuzzed.write([frame]);
    assert.equal(fuzzed.guest.ended, false);
    await fuzzed.write([frame]);
    assert.equal(fuzzed.guest.ended, true);
  });
});
