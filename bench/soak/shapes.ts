import type { Answer, RequestOptions } from "../../test/contract/http.ts";

/** A kind of honest run: the request, and the answer that it must receive, whatever other containers do. */
export interface Shape {
  readonly name: string;
  /** @param n a unique number of the run. */
  readonly send: (n: number) => string | RequestOptions;
  readonly holds: (answer: Answer, n: number) => boolean;
}

const says =
  (text: (n: number) => string) =>
  (answer: Answer, n: number): boolean =>
    answer.status === 200 && answer.complete && answer.text === text(n);

const STREAM_BYTES = 300_000;

export const SHAPES: readonly Shape[] = [
  { name: "expression", send: () => "6 * 7", holds: says(() => "42") },
  { name: "new code", send: (n) => `const own = ${n};\nreturn own + 1;`, holds: says((n) => `${n + 1}`) },
  {
    name: "function with data",
    send: (n) => ({ json: { code: "export default ({ data }) => ({ twice: data.n * 2 })", data: { n } } }),
    holds: says((n) => `{"twice":${n * 2}}`),
  },
  {
    name: "callback",
    send: () => "module.exports = function (cb) { cb(null, 'called') }",
    holds: says(() => '"called"'),
  },
  {
    name: "Node handler",
    send: (n) => `(context, req, res) => { res.setHeader("x-own", "${n}"); res.end("written") }`,
    holds: (answer, n) => says(() => "written")(answer, n) && answer.headers["x-own"] === `${n}`,
  },
  {
    name: "fetch handler",
    send: () => "export default { fetch: () => new Response('made', { status: 201 }) }",
    holds: (answer) => answer.status === 201 && answer.text === "made",
  },
  { name: "TypeScript", send: () => "const n: number = 6; return (n as number) * 7", holds: says(() => "42") },
  {
    name: "wait",
    send: () => "await new Promise((end) => setTimeout(end, 40)); return 'waited'",
    holds: says(() => '"waited"'),
  },
  {
    name: "stream",
    send: () => `let left = 30; return new ReadableStream({ async pull(c) {
      await new Promise((end) => setTimeout(end, 5));
      c.enqueue(new Uint8Array(${STREAM_BYTES / 30}).fill(120));
      if (--left === 0) c.close();
    } })`,
    holds: ({ status, complete, bytes }) =>
      status === 200 && complete && bytes.length === STREAM_BYTES && bytes.every((byte) => byte === 120),
  },
  {
    name: "large result",
    send: () => "return 'y'.repeat(1e6)",
    holds: ({ status, text }) => status === 200 && text.length === 1e6 + 2,
  },
  {
    name: "throw",
    send: (n) => `throw new Error("own ${n}")`,
    holds: (answer, n) =>
      answer.status === 500 && answer.text.includes("task_threw") && answer.text.includes(`own ${n}`),
  },
];
