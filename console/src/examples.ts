/** An example of each form that code can take. */
export const EXAMPLES: Readonly<
  Record<string, { readonly title: string; readonly code: string; readonly data?: string; readonly query?: string }>
> = {
  body: {
    title: "Function body",
    code: 'console.log("items:", context.data.items.length);\nconst total = context.data.items.reduce((sum, item) => sum + item.price, 0);\nreturn { total };\n',
    data: '{ "items": [{ "price": 40 }, { "price": 2 }] }',
  },
  expression: { title: "Expression", code: "6 * 7\n" },
  module: {
    title: "Module with TypeScript",
    code: 'import { createHash } from "node:crypto";\n\ninterface Input {\n  query: { text?: string };\n}\n\nexport default ({ query }: Input) => createHash("sha256").update(query.text ?? "").digest("hex");\n',
    query: "text=hello",
  },
  callback: {
    title: "Callback",
    code: 'module.exports = function (context, cb) {\n  cb(null, { hello: context.query.name || "world" });\n};\n',
    query: "name=you",
  },
  node: {
    title: "Node handler",
    code: 'module.exports = function (context, req, res) {\n  res.writeHead(200, { "content-type": "text/plain" });\n  res.end("Hello from " + req.method);\n};\n',
  },
  fetch: {
    title: "Fetch handler",
    code: 'export default {\n  async fetch(request, env, ctx) {\n    const { searchParams } = new URL(request.url);\n    return Response.json({ hello: searchParams.get("name") });\n  },\n};\n',
    query: "name=you",
  },
};
