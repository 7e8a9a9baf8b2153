import path from "node:path";

const COMMENT = /\/\/# sourceMappingURL=data:application\/json;base64,([\w+/=]+)\s*$/;

/** Returns the files of a bundle, which its inline source map names relative to the current folder. */
export function inputsOfBundle(text: string): string[] {
  const data = COMMENT.exec(text.slice(text.lastIndexOf("//# sourceMappingURL=")))?.[1];
  if (data === undefined) return [];
  const { sources = [] } = JSON.parse(Buffer.from(data, "base64").toString()) as { sources?: string[] };
  return sources.filter((source) => !source.includes("node_modules")).map((source) => path.resolve(source));
}
