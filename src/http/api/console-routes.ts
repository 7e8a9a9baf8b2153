import { answerFile, answerPage } from "../console/console-answers.ts";
import { INDEX, indexPage, wantsPage } from "./index-page.ts";
import { notFound } from "./refused-paths.ts";
import { type Api, type ApiDependencies, json, lastSegment, problem, resource, sendShared, text } from "./route.ts";

/** Serves the web console and its files, unless it has a separate port; `GET /` is JSON for programs. */
export function serveConsole(api: Api, { config, consoleLogo }: ApiDependencies): void {
  const isHere = config.consolePort === null;
  resource(api, "/", {
    GET: async (call) => {
      if (!wantsPage(call.req.header("accept"))) return json(200, INDEX);
      const page = isHere ? await answerPage(config, null) : null;
      if (page === null) return text(200, indexPage(), "text/html; charset=utf-8");
      return sendShared(call, page.bytes, page.type, page.headers);
    },
  });
  resource(api, "/console/:file", {
    GET: async (call) => {
      const encoding = call.req.header("accept-encoding");
      const file = isHere ? await answerFile(lastSegment(call), encoding, consoleLogo) : null;
      if (file === null) return problem(call, notFound(call.req.path));
      return sendShared(call, file.bytes, file.type, file.headers);
    },
  });
}
