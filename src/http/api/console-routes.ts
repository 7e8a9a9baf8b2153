import { consoleFiles } from "../console/console-files.ts";
import { consolePage } from "../console/console-page.ts";
import { readLogo } from "../console/logo.ts";
import { INDEX, indexPage, wantsPage } from "./index-page.ts";
import {
  type Api,
  type ApiDependencies,
  type Call,
  json,
  lastSegment,
  notFound,
  problem,
  resource,
  sendShared,
  text,
} from "./route.ts";

/** The name of a file contains its digest, so its content never changes. */
const FOREVER = "public, max-age=31536000, immutable";
const HTML = "text/html; charset=utf-8";

/** Serves the web console and its files; `GET /` is JSON for programs. */
export function serveConsole(api: Api, { config }: ApiDependencies): void {
  resource(api, "/", {
    GET: async ({ req }) => {
      if (!wantsPage(req.header("accept"))) return json(200, INDEX);
      const built = config.consolePort === null ? await consoleFiles() : null;
      if (built === null) return text(200, indexPage(), HTML);
      const { html, headers } = consolePage(built.page, config, null);
      return text(200, html, HTML, headers);
    },
  });
  resource(api, "/console/:file", { GET: (call) => sendFile(call, config.consoleLogo) });
}

async function sendFile(call: Call, logo: string | null): Promise<Response> {
  const name = lastSegment(call);
  if (name === "logo" && logo !== null) {
    const { type, bytes } = await readLogo(logo);
    return sendShared(call, bytes, type, ["Cache-Control", "public, max-age=60"]);
  }
  const file = (await consoleFiles())?.files.get(name);
  if (!file) return problem(call, notFound(call.req.path));
  const isGzip = /\bgzip\b/.test(call.req.header("accept-encoding") ?? "");
  const headers = [
    "Cache-Control",
    FOREVER,
    "Vary",
    "Accept-Encoding",
    ...(isGzip ? ["Content-Encoding", "gzip"] : []),
  ];
  return sendShared(call, isGzip ? file.gzipped : file.bytes, file.type, headers);
}
