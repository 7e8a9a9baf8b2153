/** An example of each form that code can take. */
export const EXAMPLES: Readonly<
  Record<string, { readonly title: string; readonly code: string; readonly data?: string; readonly query?: string }>
> = {
  body: {
    title: "Function body: statements and return",
    code: 'console.log("items:", context.data.items.length);\nconst total = context.data.items.reduce((sum, item) => sum + item.price, 0);\nreturn { total };\n',
    data: '{ "items": [{ "price": 40 }, { "price": 2 }] }',
  },
  expression: { title: "Expression: its value is the result", code: "6 * 7\n" },
  function: {
    title: "Function of context, as a module with TypeScript",
    code: 'import { createHash } from "node:crypto";\n\ninterface Input {\n  query: { text?: string };\n}\n\nexport default ({ query }: Input) => createHash("sha256").update(query.text ?? "").digest("hex");\n',
    query: "text=hello",
  },
  callback: {
    title: "Function with a callback",
    code: 'module.exports = function (context, cb) {\n  cb(null, { hello: context.query.name || "world" });\n};\n',
    query: "name=you",
  },
  node: {
    title: "Node handler: req and res",
    code: 'module.exports = function (context, req, res) {\n  res.writeHead(200, { "content-type": "text/plain" });\n  res.end("Hello from " + req.method);\n};\n',
  },
  fetch: {
    title: "Fetch handler: Request and Response",
    code: 'export default {\n  async fetch(request, env, ctx) {\n    const { searchParams } = new URL(request.url);\n    return Response.json({ hello: searchParams.get("name") });\n  },\n};\n',
    query: "name=you",
  },
  stream: {
    title: "Generator: a streamed result",
    code: 'import { setTimeout } from "node:timers/promises";\n\nexport default async function* () {\n  for (let number = 1; number <= 3; number++) {\n    yield `${number}\\n`;\n    await setTimeout(100);\n  }\n}\n',
  },
};
