import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { allowing, assertProblem, fetchFrom, fetchSource, LIMITS, problemOf } from "./fetching.ts";
import { closedPort, serveHttp } from "./servers.ts";

describe("a redirect", () => {
  it("is followed three times, for each of the five statuses", async (context) => {
    const statuses = [301, 302, 303, 307, 308];
    const port = await serveHttp(context, (request, response) => {
      const [, status, remaining] = request.url!.split("/").map(Number);
      if (remaining === 0) return response.end("6 * 7");
      return response.writeHead(status!, { Location: `/${status}/${remaining! - 1}#part` }).end("moved");
    });
    for (const status of statuses) {
      const { bytes, url } = await fetchFrom(port, `/${status}/3`);
      assert.equal(bytes.toString(), "6 * 7");
      assert.equal(url, `http://127.0.0.1:${port}/${status}/0`);
    }
    await assertProblem(fetchFrom(port, "/302/4"), "task_url_unreachable", /more than 3 times$/);
    await assertProblem(fetchFrom(port, "/302/1", { maxRedirects: 0 }), "task_url_unreachable", /more than 0 times$/);
  });

  it("in a loop is detected at the first repeated URL", async (context) => {
    let requests = 0;
    const port = await serveHttp(context, (request, response) => {
      requests += 1;
      response.writeHead(302, { Location: request.url === "/a" ? "/b" : "/a" }).end();
    });
    await assertProblem(fetchFrom(port, "/a"), "task_url_unreachable", /redirects in a loop$/);
    assert.equal(requests, 2);
  });

  it("is checked like the first URL, and the answer does not name its target", async (context) => {
    const targets = [
      ...[
        "http://169.254.169.254/latest/meta-data/",
        "http://127.1:1/",
        "//10.0.0.1/",
        "http://[::1]/",
        "http://localhost/",
      ],
      ...["ftp://internal.corp/", "file:///etc/passwd", "data:,42", "javascript:42", "http://u:p@internal.corp/"],
      ...["http://internal.corp:99999/", `http://internal.corp/${"x".repeat(2_048)}`, "http://8.8.8.8:6379/"],
    ];
    const port = await serveHttp(context, (request, response) => {
      response.writeHead(302, { Location: targets[Number(request.url!.slice(1))]! }).end();
    });
    for (const at of targets.keys()) {
      const problem = await problemOf(fetchFrom(port, `/${at}`));
      assert.equal(problem.code, "task_url_forbidden", targets[at]);
      assert.doesNotMatch(problem.message, /169\.254|10\.0|::1|localhost|internal|passwd|8\.8/);
    }
  });

  it("to a closed port is reported as a redirect", async (context) => {
    const closed = await closedPort();
    const port = await serveHttp(context, (_request, response) => {
      response.writeHead(302, { Location: `http://127.0.0.1:${closed}/` }).end();
    });
    await assertProblem(
      fetchSource(`http://127.0.0.1:${port}/`, allowing(port, closed), LIMITS),
      "task_url_unreachable",
      /^the redirect target of "127.0.0.1" refused the connection$/,
    );
  });

  it("without a Location, or with another status, is reported as a wrong status", async (context) => {
    const port = await serveHttp(context, (request, response) =>
      response.writeHead(Number(request.url!.slice(1))).end(),
    );
    for (const status of [300, 302, 304, 305]) {
      await assertProblem(fetchFrom(port, `/${status}`), "task_url_status", new RegExp(`status ${status}$`));
    }
  });
});
