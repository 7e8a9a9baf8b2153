// Runs the body of each request as the body of a function, in a new worker (Worker Loader).
const COMPATIBILITY_DATE = "2026-11-01";

export default {
  async fetch(request, { LOADER }) {
    // As bytes: `text()` prints a warning unless the type of the body is text.
    const code = new TextDecoder().decode(await request.arrayBuffer());
    const definition = {
      compatibilityDate: COMPATIBILITY_DATE,
      mainModule: "main.js",
      modules: { "main.js": `export default { fetch() { return Response.json((function () {\n${code}\n})()); } };` },
      globalOutbound: null,
    };
    // `load` always makes a worker, and is meant for new code. `get` keeps the worker of a name.
    const isWarm = new URL(request.url).pathname.startsWith("/warm");
    const worker = isWarm ? LOADER.get(code, () => definition) : LOADER.load(definition);
    return worker.getEntrypoint().fetch("http://task/");
  },
};
