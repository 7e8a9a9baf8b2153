import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage, type Server as HttpServer } from "node:http";
import { createSecureServer as createHttp2Server } from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import { createServer, type Server, type Socket } from "node:net";
import { TLSSocket } from "node:tls";

import { SELF_SIGNED } from "../source/self-signed.ts";

/** Servers of many kinds, as on the internet. Each kind has a different answer. */

/** Returns a server that answers with method, path and body size. `/large` answers 4 MiB, `/redirect?to=` redirects. */
export function httpServer(): HttpServer {
  return createHttpServer(answer).on("upgrade", webSocket);
}

/** Returns the same server with TLS and the certificate of `SELF_SIGNED`. */
export function httpsServer(): Server {
  return createHttpsServer(SELF_SIGNED, answer).on("upgrade", webSocket);
}

export function http2Server(): Server {
  const server = createHttp2Server(SELF_SIGNED);
  server.on("stream", (stream, headers) => {
    stream.respond({ ":status": 200 });
    stream.end(`h2 ${String(headers[":path"])}`);
  });
  return server;
}

/** Returns a server whose connections start unencrypted and upgrade to TLS on request, as with mail servers. */
export function startTlsServer(): Server {
  return createServer((socket) => {
    socket.on("error", () => {});
    socket.write("220 ready\n");
    socket.once("data", () => {
      socket.write("220 go ahead\n");
      const secure = new TLSSocket(socket, { isServer: true, ...SELF_SIGNED });
      secure.on("error", () => {}).on("data", (chunk) => void secure.end(`secret ${String(chunk)}`));
    });
  });
}

function answer(
  request: IncomingMessage,
  response: { writeHead(status: number, headers?: object): unknown; end(body?: string | Buffer): unknown },
): void {
  const url = new URL(request.url!, "http://denied.test");
  if (url.pathname === "/redirect") {
    response.writeHead(302, { location: url.searchParams.get("to")! });
    return void response.end();
  }
  let bytes = 0;
  request.on("data", (chunk: Buffer) => (bytes += chunk.length));
  request.once("end", () => {
    response.writeHead(200, { "content-type": "text/plain" });
    response.end(
      url.pathname === "/large" ? Buffer.alloc(4 * 2 ** 20, "z") : `${request.method} ${url.pathname} ${bytes}`,
    );
  });
}

/** Sends each short text message back in capitals (RFC 6455). */
function webSocket(request: IncomingMessage, socket: Socket): void {
  const key = `${request.headers["sec-websocket-key"]!}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
  const accept = createHash("sha1").update(key).digest("base64");
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  );
  socket
    .on("error", () => {})
    .on("data", (frame: Buffer) => {
      if ((frame[0]! & 0x0f) !== 1) {
        socket.end(Buffer.from([0x88, 0]));
        return;
      }
      const size = frame[1]! & 0x7f;
      const text = Buffer.from(frame.subarray(6, 6 + size).map((byte, at) => byte ^ frame[2 + (at % 4)]!));
      const capitals = Buffer.from(text.toString().toUpperCase());
      socket.write(Buffer.concat([Buffer.from([0x81, capitals.length]), capitals]));
    });
}

/** Listens on a free loopback port and returns the port. */
export async function listen(server: Server | HttpServer): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as { port: number }).port;
}
