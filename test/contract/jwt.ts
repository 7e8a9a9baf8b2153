import { type KeyObject, sign } from "node:crypto";

export function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

export function decode(part: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(part, "base64url").toString()) as Record<string, unknown>;
}

/** Returns a token that is signed by another key. */
export function signed(header: object, payload: object, key: KeyObject): string {
  const text = `${encode(header)}.${encode(payload)}`;
  return `${text}.${sign(null, Buffer.from(text), key).toString("base64url")}`;
}

/** Returns the token with other members in its header or payload, and with its old signature. */
export function altered(token: string, { header = {}, payload = {} }: { header?: object; payload?: object }): string {
  const [head, body, signature] = token.split(".") as [string, string, string];
  return `${encode({ ...decode(head), ...header })}.${encode({ ...decode(body), ...payload })}.${signature}`;
}
