let openApi: Promise<Buffer> | null = null;

/** Makes the document at its first request: its program is large, and most services are never asked for it. */
export function openApiJson(): Promise<Buffer> {
  openApi ??= import("./document.ts").then(({ openApiDocument }) => Buffer.from(JSON.stringify(openApiDocument())));
  return openApi;
}
