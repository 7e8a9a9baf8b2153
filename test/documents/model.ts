import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

interface Message {
  readonly content: string;
}

const WRONG = "```js\nreturn primes(100).length;\n```";
const RIGHT = `const primes = (n) => [...Array(n + 1).keys()].slice(2).filter((k, _, all) => all.every((d) => d >= k || k % d > 0));
return primes(100).length;`;

/** A language model that the pages can ask: it writes code with an error, and corrects it if it is shown the line. */
export interface Model extends AsyncDisposable {
  readonly url: string;
}

export async function startModel(): Promise<Model> {
  const server = createServer((request, response) => {
    void (async () => {
      const { messages } = JSON.parse(Buffer.concat(await request.toArray()).toString()) as { messages: Message[] };
      const hasLine = /ReferenceError: primes is not defined[^]*> 1 \| return primes/.test(messages.at(-1)!.content);
      const content = hasLine ? RIGHT : WRONG;
      response.end(JSON.stringify({ choices: [{ message: { role: "assistant", content } }] }));
    })();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
