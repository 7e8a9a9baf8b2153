import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { allowing, assertProblem, fetchSource, LIMITS, trustTestCertificate } from "./fetching.ts";
import { serveHttp, serveHttps } from "./servers.ts";

describe("a fetch over https", () => {
  it("rejects an untrusted certificate, also if NODE_TLS_REJECT_UNAUTHORIZED is 0", async (context) => {
    const port = await serveHttps(context, (_request, response) => response.end("6 * 7"));
    const before = process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
    context.after(() => {
      if (before === undefined) delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
      else process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = before;
    });
    process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
    await assertProblem(
      fetchSource(`https://code.test:${port}/`, allowing(port), LIMITS),
      "task_url_unreachable",
      /^"code.test" has a TLS certificate that is not trusted$/,
    );
  });

  it("fails at a server without TLS", async (context) => {
    const port = await serveHttp(context, (_request, response) => response.end("6 * 7"));
    await assertProblem(
      fetchSource(`https://code.test:${port}/`, allowing(port), LIMITS),
      "task_url_unreachable",
      /did not complete the TLS handshake/,
    );
  });

  it("requires a certificate for the name, and rejects a redirect to http:", async (context) => {
    trustTestCertificate(context);
    const plain = await serveHttp(context, (_request, response) => response.end("6 * 7"));
    let servername: unknown;
    const port = await serveHttps(context, (request, response) => {
      servername = Reflect.get(request.socket, "servername");
      if (request.url === "/down") response.writeHead(302, { Location: `http://code.test:${plain}/` });
      response.end("6 * 7");
    });
    const policy = allowing(port, plain);
    const { bytes } = await fetchSource(`https://code.test:${port}/`, policy, LIMITS);
    assert.equal(bytes.toString(), "6 * 7");
    assert.equal(servername, "code.test");
    const down = fetchSource(`https://code.test:${port}/down`, policy, LIMITS);
    await assertProblem(down, "task_url_forbidden", /from https: to http:$/);
    for (const host of ["other.test", "127.0.0.1"]) {
      const other = fetchSource(`https://${host}:${port}/`, policy, LIMITS);
      await assertProblem(other, "task_url_unreachable", /certificate for another name$/);
    }
  });
});
