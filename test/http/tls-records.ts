import { createCipheriv, createHmac } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectSecurely, type TLSSocket } from "node:tls";

/** A client after its TLS handshake, and what encrypts its next records. */
export interface Secured {
  readonly transport: Socket;
  readonly socket: TLSSocket;
  readonly secret: Buffer;
}

/** Connects with the one cipher for which this file makes records. */
export async function secured(port: number): Promise<Secured> {
  const transport = connect(port, "127.0.0.1").on("error", () => {});
  const socket = connectSecurely({
    ...{ socket: transport, rejectUnauthorized: false },
    ...{ ciphers: "TLS_AES_128_GCM_SHA256", minVersion: "TLSv1.3" },
  });
  socket.on("error", () => {});
  const secret = Promise.withResolvers<Buffer>();
  socket.on("keylog", (line: Buffer) => {
    const [label, , hex] = line.toString().trim().split(" ");
    if (label === "CLIENT_TRAFFIC_SECRET_0") secret.resolve(Buffer.from(hex!, "hex"));
  });
  await once(socket, "secureConnect");
  return { transport, socket, secret: await secret.promise };
}

/** Returns records without data: messages that change the key (RFC 8446, section 4.6.3), which a client may send at any time. */
export function keyUpdates(first: Buffer, bytes: number): Buffer {
  const records: Buffer[] = [];
  let secret = first;
  for (let made = 0; made < bytes;) {
    const head = Buffer.from([23, 3, 3, 0, 22]);
    const cipher = createCipheriv("aes-128-gcm", expanded(secret, "key", 16), expanded(secret, "iv", 12));
    cipher.setAAD(head);
    // Type 24, three bytes of length, no answer requested; the last byte is the type of the record.
    const sealed = [cipher.update(Buffer.from([24, 0, 0, 1, 0, 22])), cipher.final(), cipher.getAuthTag()];
    const record = Buffer.concat([head, ...sealed]);
    records.push(record);
    made += record.length;
    secret = expanded(secret, "traffic upd", 32);
  }
  return Buffer.concat(records);
}

/** HKDF-Expand-Label (RFC 8446, section 7.1) for results of one block. */
function expanded(secret: Buffer, label: string, bytes: number): Buffer {
  const name = Buffer.from(`tls13 ${label}`);
  const info = Buffer.concat([Buffer.from([0, bytes, name.length]), name, Buffer.from([0, 1])]);
  return createHmac("sha256", secret).update(info).digest().subarray(0, bytes);
}
