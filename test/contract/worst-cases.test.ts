import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { after, before, describe, it } from "node:test";

import { drawn } from "../seeded.ts";
import { type Answer, request as requestRaw } from "./http.ts";
import { NO_WALL, type Service, startService } from "./service.ts";
import { slowness } from "./slowness.ts";
import { StallProbe } from "./stall-probe.ts";

const MIB = 2 ** 20;
/** The milliseconds that one caller may delay the others at most, on a quiet machine. */
const STALL_MS = 50;
/** The service causes the same delay each time. A garbage collection or a page fault does not repeat. */
const ATTEMPTS = 8;
/** The worst cases of a short run. */
const DRAWN = 10;

let service: Service;
let probe: StallProbe;
let token: string;

before(async () => {
  const flags = [...NO_WALL, "--log-level", "debug", "--token-containers", "100", "--family-issues", "100000"];
  service = await startService(flags);
  probe = new StallProbe(service.port, service.pid);
  token = await service.issue({ containers: ["worst", "worst-*"], can: ["run", "tasks", "issue", "logs"], depth: 1 });
});
after(async () => {
  await probe[Symbol.asyncDispose]();
  await service.stop();
});

/** A request of a caller and the status of its answer. */
interface Worst {
  readonly name: string;
  readonly status: number;
  /** Prepares the case, and returns the function that sends the worst request. */
  readonly make: () => Promise<() => Promise<Answer>>;
}

const send = (method: string, path: string, body: string, type?: string): Promise<Answer> => {
  return service.request(method, path, { token, body, headers: type ? { "content-type": type } : {} });
};
const post = (path: string, body: string, type?: string): Promise<Answer> => send("POST", path, body, type);
const JSON_TYPE = "application/json";
/** Sends a message of the Model Context Protocol. */
const message = (text: string, path = "/mcp/worst"): Promise<Answer> => {
  const headers = { "content-type": JSON_TYPE, accept: "application/json, text/event-stream" };
  return requestRaw(service.port, "POST", path, { token, body: text, headers });
};
/** Calls a tool that has a large answer on some connections. @returns the answer to the last call of the first */
async function callOften(container: string, name: string, args: object, connections: number): Promise<Answer> {
  const params = { name, arguments: args };
  const call = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const answer = await again(connections, 2, () => message(call, `/mcp/${container}`));
  assert.ok(answer.text.length > MIB / 4, `the answer must be large: ${answer.text.slice(0, 500)}`);
  return answer;
}
/** Returns as many members as fit into a message. */
const members = (count: number): string => Array.from({ length: count }, (_, at) => `"${at.toString(36)}":0`).join();
const events = (path: string, body: string): Promise<Answer> => {
  return service.request("POST", path, { token, body, headers: { accept: "text/event-stream" } });
};
/** Returns code that answers with a body that it calls JSON. */
const jsonBody = (body: string): string =>
  `return new Response(${body}, { headers: { "content-type": "application/json" } })`;

/** 64 KiB of secrets that differ only at their ends, which is the worst case for a search. */
const SECRETS = Object.fromEntries(Array.from({ length: 11 }, (_, at) => [`s${at}`, `${"a".repeat(5_900 - at)}z`]));

async function putTask(name: string, code: string, more: object = {}): Promise<string> {
  const answer = await send("PUT", `/api/tasks/worst/${name}`, JSON.stringify({ code, ...more }));
  assert.ok([200, 201].includes(answer.status), answer.text);
  return `/api/run/worst/${name}`;
}

/**
 * Returns a task with an expensive regular expression. V8 keeps compiled ones, so each is another one. The unknown member keeps
 * the request from counting.
 */
function bodyOfSchema(at: number): string {
  const pattern = `${at}${String.raw`\p{C}`.repeat(2_600)}`;
  const input = { type: "object", properties: { a: { pattern } } };
  return JSON.stringify({ code: "1", unknown: 1, input });
}

/** Sends a body with one byte in each chunk, until the service closes the connection. */
async function sendChunks(path: string): Promise<Answer> {
  const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nTransfer-Encoding: chunked\r\n\r\n`;
  const text = await service.raw(head, "1\r\nx\r\n".repeat(200_000), "0\r\n\r\n");
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1]);
  return { status, text } as Answer;
}

/** Sends requests on some connections, on each one after the other. @returns the answer to the last request of the first */
async function again(connections: number, times: number, request: () => Promise<Answer>): Promise<Answer> {
  const work = async (): Promise<Answer> => {
    for (let at = 1; at < times; at++) await request();
    return await request();
  };
  return (await Promise.all(Array.from({ length: connections }, work)))[0]!;
}

/** Asks 1,200 times at once, and checks that the answers do not take much memory. */
async function flood(target: string, bearer: string): Promise<Answer> {
  const beforeBytes = await memoryOf(service.pid);
  const sockets = Array.from({ length: 40 }, () => connect(service.port, "127.0.0.1"));
  for (const socket of sockets) socket.on("error", () => {}).resume();
  const head = `GET ${target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${bearer}\r\n\r\n`;
  for (const socket of sockets) socket.write(head.repeat(30));
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const answer = await service.request("GET", "/healthz", { token: null });
  const grownMib = ((await memoryOf(service.pid)) - beforeBytes) / MIB;
  for (const socket of sockets) socket.destroy();
  assert.ok(grownMib < 400, `${grownMib} MiB`);
  return answer;
}

/** Returns the bytes of memory that a process has. */
async function memoryOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)![1]) * 1_024;
}

const WORST: readonly Worst[] = [
  {
    name: "a record with the largest result",
    status: 200,
    make: async () => {
      const code = "Array(2 ** 20).fill(12345)";
      return () => post("/api/runs/worst?maxResult=6MiB", code);
    },
  },
  {
    name: "a record with the largest result that is not JSON",
    status: 200,
    make: async () => {
      const code = "Buffer.alloc(6 * 2 ** 20 - 1, 255)";
      return () => post("/api/runs/worst?maxResult=6MiB", code);
    },
  },
  {
    name: "a record with the largest result that is cut, of control characters only",
    status: 200,
    make: async () => {
      return () => post("/api/runs/worst?maxResult=6290000B", jsonBody("new Uint8Array(6 * 2 ** 20).fill(1)"));
    },
  },
  {
    name: "events with the largest result, of control characters only",
    status: 200,
    make: async () => {
      return () => events("/api/runs/worst?maxResult=6290000B", jsonBody("new Uint8Array(6 * 2 ** 20).fill(1)"));
    },
  },
  {
    name: "events with the largest result, of line breaks only",
    status: 200,
    make: async () => {
      const code = jsonBody('"[" + "0\\n,\\n".repeat(1_572_000) + "0]"');
      return () => events("/api/runs/worst?maxResult=6MiB", code);
    },
  },
  {
    name: "events with the largest result, of line breaks only, 8 times at once",
    status: 200,
    make: async () => {
      const code = jsonBody('"[" + "0\\n,\\n".repeat(1_572_000) + "0]"');
      return async () => {
        const send8 = Array.from({ length: 8 }, () => events("/api/runs/worst?maxResult=6MiB", code));
        return (await Promise.all(send8))[0]!;
      };
    },
  },
  {
    name: "a record with the maximum of console lines",
    status: 200,
    make: async () => {
      const code = 'for (let line = 0; line < 1_000; line++) console.log("\\u0001"); return 1';
      return () => post("/api/runs/worst", code);
    },
  },
  {
    name: "a search in the records of runs that have printed the maximum",
    status: 200,
    make: async () => {
      const code = 'for (let line = 0; line < 60; line++) console.log("\\u0001".repeat(900)); throw new Error("x")';
      for (let run = 0; run < 40; run++) await post(`/api/run/worst-${run % 4}`, code);
      return () => service.request("GET", "/api/runs?q=nowhere&limit=1000");
    },
  },
  {
    name: "a task that throws text like its secrets",
    status: 500,
    make: async () => {
      const path = await putTask("throws", '() => { throw new Error("a".repeat(8_000) + "c") }', { secrets: SECRETS });
      return () => post(path, "");
    },
  },
  {
    name: "a task that logs the maximum, with text like its secrets",
    status: 200,
    make: async () => {
      const code = '() => { for (let n = 0; n < 4; n++) console.log("a".repeat(60_000) + "c"); return 1 }';
      const path = await putTask("logs", code, { secrets: SECRETS });
      return () => post(path, "");
    },
  },
  {
    name: "a task whose error has the maximum of members, with secrets",
    status: 500,
    make: async () => {
      const code = `() => { const e = new Error("x"); for (let n = 0; n < 32; n++) e["p" + n] = Array(400).fill("a"); e.cause = e.p1; throw e }`;
      const path = await putTask("members", code, { secrets: SECRETS });
      return () => post(path, "");
    },
  },
  {
    name: "an envelope with the maximum of values",
    status: 200,
    make: () => {
      const body = `{"code":"1","data":[${"[],".repeat(1_390_000)}0]}`;
      return Promise.resolve(() => post("/api/run/worst", body, JSON_TYPE));
    },
  },
  {
    name: "code that names the maximum of modules of packages, and quotes only",
    status: 403,
    make: () => {
      const names = Array.from({ length: 190 }, (_, at) => `"zod/a${at}"`).join();
      const code = names + "'\"`x".repeat(256_000 - names.length / 4);
      const body = JSON.stringify({ code, packages: { zod: "4" } });
      return Promise.resolve(() => post("/api/run/worst", body, JSON_TYPE));
    },
  },
  {
    name: "code of imports of packages only",
    status: 400,
    make: () => {
      const code = 'import(/*npm:*/"npm:zod@4");'.repeat(37_000);
      return Promise.resolve(() => post("/api/run/worst", code));
    },
  },
  {
    name: "code with as many spellings of a range as possible",
    status: 400,
    make: () => {
      const parts = [">=1", ">=1.x", ">=1.*", ">=1.X", ">=v1", ">=1.0"];
      const spelled = (at: number): string => {
        return Array.from({ length: 21 }, (_, place) => parts[Math.floor(at / 6 ** (place % 5)) % 6]).join(" ");
      };
      const code = Array.from({ length: 4_990 }, (_, at) => `import"npm:a@${spelled(at)}";`).join("\n");
      return Promise.resolve(() => post("/api/run/worst", code));
    },
  },
  {
    name: "a token with as many ranges of a package as the token above it",
    status: 403,
    make: async () => {
      const packages = Array.from({ length: 99 }, (_, at) => `a@${at + 10}||4||5||6||7||8||9||>=1 <2`);
      const issuer = await service.issue({ containers: ["worst"], can: ["run", "issue"], depth: 1, packages });
      const asked = Array.from({ length: 99 }, (_, at) => `a@>=1.${at} <1.8||1.2||1.3||1.4||1.5||1.6||1.7||2`);
      const json = { containers: ["worst"], packages: [...asked, "b"] };
      return () => service.request("POST", "/api/tokens", { token: issuer, json });
    },
  },
  {
    name: "an envelope with the longest ranges",
    status: 403,
    make: () => {
      const range = "1.2.3 - 2.3.4 || ".repeat(7) + "3.3.3";
      const packages = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`a${at}`, range]));
      const body = JSON.stringify({ code: "1", packages });
      return Promise.resolve(() => post("/api/run/worst", body, JSON_TYPE));
    },
  },
  {
    name: "an envelope with one string of escapes only",
    status: 200,
    make: () => {
      const body = `{"code":"1","data":"${String.raw`\u0061`.repeat(690_000)}"}`;
      return Promise.resolve(() => post("/api/run/worst", body, JSON_TYPE));
    },
  },
  {
    name: "an envelope with modules that are not strings",
    status: 400,
    make: () => {
      const body = `{"code":"1","modules":{"./a":[${"{},".repeat(1_390_000)}0]}}`;
      return Promise.resolve(() => post("/api/run/worst", body, JSON_TYPE));
    },
  },
  {
    name: "data for a named task with the maximum of members",
    status: 200,
    make: async () => {
      const path = await putTask("data", "() => 1");
      const body = `{${Array.from({ length: 400_000 }, (_, at) => `"${at.toString(36)}":0`).join()}}`;
      return () => post(path, body, JSON_TYPE);
    },
  },
  {
    name: "an envelope of white space",
    status: 400,
    make: () => {
      const body = " ".repeat(4 * MIB);
      return Promise.resolve(() => post("/api/run/worst", body, JSON_TYPE));
    },
  },
  {
    name: "a body in chunks of one byte",
    status: 400,
    make: () => Promise.resolve(() => sendChunks("/api/run/worst")),
  },
  {
    name: "a body in chunks of one byte that is not read",
    status: 404,
    make: () => Promise.resolve(() => sendChunks("/api/nothing")),
  },
  {
    name: "many small requests ahead of their answers, without a token",
    status: 200,
    make: () =>
      Promise.resolve(async () => {
        const socket = connect(service.port, "127.0.0.1");
        socket.on("error", () => {}).resume();
        socket.write("GET / HTTP/1.1\r\nHost:\r\n\r\n".repeat(40_000));
        await new Promise((resolve) => socket.once("close", resolve));
        return { status: 200, text: "" } as Answer;
      }),
  },
  {
    name: "the document of the API on 60 connections that ask 32 times and read nothing, without a token",
    status: 200,
    make: () =>
      Promise.resolve(async () => {
        const sockets = Array.from({ length: 60 }, () => connect(service.port, "127.0.0.1"));
        for (const socket of sockets) socket.on("error", () => {}).pause();
        for (const socket of sockets) socket.write("GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n".repeat(32));
        // Until the service has made its answers.
        const answer = await service.request("GET", "/openapi.json", { token: null });
        for (const socket of sockets) socket.destroy();
        return answer;
      }),
  },
  {
    name: "heads with as many headers as possible, 24 at a time on 100 connections, without a token",
    status: 200,
    make: () =>
      Promise.resolve(async () => {
        const sockets = Array.from({ length: 100 }, () => connect(service.port, "127.0.0.1"));
        const answered = sockets.map((socket) =>
          once(
            socket.on("error", () => {}),
            "data",
          ),
        );
        const heads = `GET /healthz HTTP/1.1\r\nHost: x\r\n${"a:\r\n".repeat(950)}\r\n`.repeat(24);
        for (const socket of sockets) socket.write(heads);
        const answer = await service.request("GET", "/healthz", { token: null });
        await Promise.all(answered);
        for (const socket of sockets) socket.destroy();
        return answer;
      }),
  },
  {
    name: "1,200 lists of the tasks of a family with many params, on 40 connections",
    status: 200,
    make: async () => {
      const greedy = await service.issue({ containers: ["lists"], can: ["tasks"] });
      const params = { p: Array.from({ length: 20_000 }, () => ({})) };
      for (let at = 0; at < 34; at++) {
        const json = { code: "1", params: { ...params, at } };
        await service.request("PUT", `/api/tasks/lists/listed-${at}`, { token: greedy, json });
      }
      return () => flood("/api/tasks/lists?limit=1000", greedy);
    },
  },
  {
    name: "1,200 reads of a console of lines that become longer as text, on 40 connections",
    status: 200,
    make: async () => {
      const greedy = await service.issue({ containers: ["prints"], can: ["run", "logs"] });
      const printed = await service.run("prints", String.raw`console.log("\v".repeat(60_000))`, { token: greedy });
      return () => flood(`/api/runs/prints/${printed.headers["caisson-run"]}/console`, greedy);
    },
  },
  {
    name: "a task whose error is a list of thousands of strings, with secrets",
    status: 500,
    make: async () => {
      const code =
        '() => { throw Object.assign(new Error("x"), { a: Array(1_300).fill(""), b: Array(1_300).fill("") }) }';
      const path = await putTask("texts", code, { secrets: SECRETS });
      return () => post(path, "");
    },
  },
  {
    name: "24 messages at once of an agent with as many members as possible in what the protocol checks",
    status: 400,
    make: () => {
      const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_code","arguments":{},"_meta":{${members(28_000)}}}}`;
      return Promise.resolve(() => again(24, 3, () => message(body)));
    },
  },
  {
    name: "24 messages at once of an agent with the maximum of members in the arguments of a tool",
    status: 200,
    make: () => {
      const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"save_task","arguments":{${members(999)},"-":{${members(9_000)}}}}}`;
      return Promise.resolve(() => again(24, 3, () => message(body)));
    },
  },
  {
    name: "24 messages at once of an agent with the maximum of values in the arguments of a tool",
    status: 200,
    make: () => {
      const data = `{"code":1,"data":[${"[],".repeat(80_000)}0]}`;
      const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_code","arguments":${data}}}`;
      return Promise.resolve(() => again(24, 3, () => message(body)));
    },
  },
  {
    name: "16 lists at once of the tasks with the largest inputs, for a model",
    status: 200,
    make: async () => {
      const input = { type: "object", properties: { p: { enum: Array.from({ length: 5_400 }, () => ({})) } } };
      for (let at = 0; at < 100; at++) {
        const json = JSON.stringify({ code: "1", input });
        const put = await send("PUT", `/api/tasks/worst-inputs/listed-${at}`, json);
        assert.ok([200, 201].includes(put.status), put.text);
      }
      return () => callOften("worst-inputs", "list_tasks", {}, 16);
    },
  },
  {
    name: "8 lists at once of the runs with the largest errors, for a model",
    status: 200,
    make: async () => {
      for (let run = 0; run < 50; run++) {
        await post("/api/run/worst-errors", String.raw`throw new Error("\u0001".repeat(100_000))`);
      }
      return () => callOften("worst-errors", "get_runs", { limit: 50 }, 8);
    },
  },
  {
    name: "8 reads at once of a run with the largest console, for a model",
    status: 200,
    make: async () => {
      const code = 'for (let line = 0; line < 64; line++) console.log("\\u0001".repeat(1_000)); return 1';
      const ran = await post("/api/run/worst-console", code);
      return () => callOften("worst-console", "get_runs", { run: ran.headers["caisson-run"] }, 8);
    },
  },
  {
    name: "a query with the maximum of parts",
    status: 200,
    make: () => Promise.resolve(() => post(`/api/run/worst?${"a&".repeat(7_000)}`, "1")),
  },
  {
    name: "a query with one parameter as often as possible, without a token",
    status: 400,
    make: () => Promise.resolve(() => service.request("GET", `/api/usage?${"label&".repeat(2_650)}`, { token: null })),
  },
  {
    name: "a query with as many unknown parameters as possible, without a token, on 20 connections",
    status: 400,
    make: () => {
      const names = Array.from({ length: 3_600 }, (_, at) => at.toString(36)).join("&");
      return Promise.resolve(() => again(20, 4, () => service.request("GET", `/api/usage?${names}`, { token: null })));
    },
  },
  {
    name: "a key for a public task that can be decoded again and again, on 20 connections",
    status: 429,
    make: async () => {
      const path = await putTask("decoded", "1", { public: true, limits: { token: { month: 1 } } });
      await service.request("GET", path, { token: null });
      const key = `${"VVlVVVVV".repeat(5)}%2541`.repeat(340);
      return () => again(20, 4, () => service.request("GET", `${path}?key=${key}`, { token: null }));
    },
  },
  {
    name: "many keys for a public task that look like heads of tokens, on 20 connections",
    status: 429,
    make: async () => {
      const path = await putTask("heads", "1", { public: true, limits: { token: { month: 1 } } });
      await service.request("GET", path, { token: null });
      const keys = `key=${"eyIAAAAAAAAAAAAAAAAA.".repeat(34)}%252525`.concat("&").repeat(20);
      return () => again(20, 4, () => service.request("GET", `${path}?${keys}`, { token: null }));
    },
  },
  {
    name: "a task whose modules have as many words as possible that may define a fetch handler, and its preflight",
    status: 204,
    make: async () => {
      const text = `/*${"fetch(".repeat(1_000)}*/`;
      const modules = Object.fromEntries(Array.from({ length: 98 }, (_, at) => [`./m${at}.js`, text]));
      let puts = 0;
      return async () => {
        const path = await putTask("preflight", `() => ${puts++}`, { modules, public: true });
        return service.request("OPTIONS", path, { token: null });
      };
    },
  },
  {
    name: "24 refused runs at once, of tasks whose code is not in memory",
    status: 429,
    make: async () => {
      const paths: string[] = [];
      const names = Array.from({ length: 99 }, (_, at) => `./m${at}.js`);
      for (let at = 0; at < 36; at++) {
        const modules = Object.fromEntries(names.map((name) => [name, `//${at}${"\u00e9".repeat(5_000)}`]));
        paths.push(
          await putTask(`big-${at}`, `() => ${at}`, { modules, public: true, limits: { token: { month: 1 } } }),
        );
        await service.request("GET", paths[at]!, { token: null });
      }
      let next = 0;
      return () => again(24, 8, () => service.request("GET", paths[next++ % paths.length]!, { token: null }));
    },
  },
  {
    name: "32 reads at once of a task with the maximum of code",
    status: 200,
    make: async () => {
      await putTask("read", `() => 1 //${'"\\'.repeat(349_000)}`);
      return () => again(32, 4, () => service.request("GET", "/api/tasks/worst/read", { token }));
    },
  },
  {
    name: "a result of the maximum size",
    status: 200,
    make: () => Promise.resolve(() => post("/api/run/worst", `"é".repeat(${3 * MIB - 10})`)),
  },
  {
    name: "a task whose code has the maximum size, all of it escaped",
    status: 201,
    make: () => {
      const body = `{"code":"${String.raw`\u0061`.repeat(690_000)}"}`;
      let puts = 0;
      return Promise.resolve(() => send("PUT", `/api/tasks/worst/escaped-${puts++}`, body));
    },
  },
  {
    name: "a task with the maximum of other members",
    status: 400,
    make: () => {
      const body = `{"code":"1","params":{"p":[${"[],".repeat(85_000)}0]}}`;
      return Promise.resolve(() => send("PUT", "/api/tasks/worst/params", body));
    },
  },
  {
    name: "a request for a token with faults only",
    status: 400,
    make: () => {
      const body = `{${Array.from({ length: 6_000 }, (_, at) => `"m${at}":0`).join()}}`;
      return Promise.resolve(() => post("/api/tokens", body));
    },
  },
  {
    name: "a request for a token with the maximum of containers",
    status: 400,
    make: () => {
      const containers = Array.from({ length: 5_000 }, (_, at) => `worst-${at}`);
      return Promise.resolve(() => post("/api/tokens", JSON.stringify({ containers })));
    },
  },
  {
    name: "the versions of a task with the maximum of params, 32 times at once",
    status: 200,
    make: async () => {
      for (let at = 0; at < 10; at++) {
        await putTask("versions", "() => 1", { params: { at, p: Array.from({ length: 20_000 }, () => []) } });
      }
      return () => again(32, 4, () => service.request("GET", "/api/tasks/worst/versions/versions", { token }));
    },
  },
  {
    name: "a task whose input has as many properties of Unicode as possible in its regular expressions",
    status: 400,
    make: () => {
      let puts = 0;
      return Promise.resolve(() => send("PUT", "/api/tasks/worst/schema", bodyOfSchema(puts++)));
    },
  },
  {
    name: "a task with unknown members only",
    status: 400,
    make: () => {
      const body = `{${Array.from({ length: 26_000 }, (_, at) => `"k${at}":0`).join()}}`;
      return Promise.resolve(() => send("PUT", "/api/tasks/worst/unknown", body));
    },
  },
  {
    name: "a list of tokens of the maximum length",
    status: 200,
    make: async () => {
      const net = Array.from({ length: 100 }, (_, at) => `host-${at}.example.com`);
      const claims = { containers: ["worst"], net, params: { a: Array.from({ length: 700 }, () => ({})) } };
      for (let at = 0; at < 100; at++) await service.issue(claims);
      return () => service.request("GET", "/api/tokens?limit=1000");
    },
  },
  {
    name: "the same list of tasks with many params, 16 times at once",
    status: 200,
    make: async () => {
      const params = { p: Array.from({ length: 20_000 }, () => ({})) };
      for (let at = 0; at < 10; at++) await putTask(`often-${at}`, "() => 1", { params });
      return async () => {
        const lists = Array.from({ length: 16 }, () => {
          return service.request("GET", "/api/tasks/worst?limit=10&cursor=often", { token });
        });
        return (await Promise.all(lists))[0]!;
      };
    },
  },
  {
    name: "a list of tasks with the maximum of params",
    status: 200,
    make: async () => {
      const params = { p: Array.from({ length: 20_000 }, () => ({})) };
      for (let at = 0; at < 60; at++) await putTask(`listed-${at}`, "() => 1", { params });
      return () => service.request("GET", "/api/tasks/worst?limit=1000", { token });
    },
  },
];

describe("no other caller waits long for", () => {
  for (const { name, status, make } of drawn("worst cases", WORST, DRAWN)) {
    it(name, async (context) => {
      const worst = await make();
      const waited: number[] = [];
      while (waited.length < ATTEMPTS && !(Math.min(...waited) < STALL_MS)) {
        const ms = await probe.during(async () => {
          const answer = await worst();
          assert.equal(answer.status, status, answer.text.slice(0, 500));
        });
        // What lasts 50 ms on a quiet machine lasts longer while other tests run.
        waited.push(ms / slowness());
      }
      context.diagnostic(`another caller waited ${Math.min(...waited).toFixed(1)} ms`);
      assert.ok(Math.min(...waited) < STALL_MS, `others waited ${waited.map(Math.round).join(", ")} ms`);
    });
  }
});
