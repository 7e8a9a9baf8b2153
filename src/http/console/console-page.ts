import { randomBytes } from "node:crypto";

import type { Config } from "../../config.ts";

/** The settings that the page contains. */
export type ConsoleSettings = Pick<
  Config,
  "consoleFrameAncestors" | "consoleTitle" | "consoleAccent" | "consoleLogo" | "consoleServiceUrl" | "port"
>;

/** An answer with the page of the console. */
export interface ConsolePage {
  readonly html: string;
  readonly headers: readonly string[];
}

/**
 * Returns the page with its policy. Tasks answer HTML from the same origin, so the policy trusts one script by its digest
 * and what that script loads, and nothing that a page could insert (CSP level 3, `strict-dynamic`). The editor inserts
 * style sheets, which a nonce permits.
 *
 * @param serviceUrl the URL of the service if the console has a separate origin, otherwise null
 */
export function consolePage(page: string, settings: ConsoleSettings, serviceUrl: string | null): ConsolePage {
  const nonce = randomBytes(16).toString("base64");
  const digest = /integrity="(sha256-[^"]+)"/.exec(page)?.[1] ?? "";
  const { consoleFrameAncestors: ancestors, consoleTitle, consoleAccent, consoleLogo } = settings;
  const metas = {
    "caisson-nonce": nonce,
    "caisson-title": consoleTitle,
    ...(serviceUrl !== null && { "caisson-service": serviceUrl }),
    ...(consoleAccent !== null && { "caisson-accent": consoleAccent }),
    ...(consoleLogo !== null && { "caisson-logo": "console/logo" }),
  };
  const tags = Object.entries(metas).map(([name, content]) => `<meta name="${name}" content="${escape(content)}" />`);
  const html = page
    .replace(/<title>.*?<\/title>/, () => `<title>${escape(consoleTitle)}</title>`)
    .replace("</head>", () => `${tags.join("\n")}\n</head>`);
  const policy = [
    "default-src 'none'",
    `script-src '${digest}' 'strict-dynamic'`,
    `style-src 'self' 'nonce-${nonce}'`,
    // Chromium gives typed text the style of what it replaces. An attribute has no selector and loads only images.
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data:",
    `connect-src 'self'${serviceUrl === null ? "" : ` ${new URL(serviceUrl).origin}`}`,
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${ancestors.length === 0 ? "'none'" : ancestors.join(" ")}`,
    "require-trusted-types-for 'script'",
    // The policy of the script that inserts the entry. A second one of this name is refused.
    "trusted-types caisson",
  ].join("; ");
  const headers = ["Content-Security-Policy", policy, "Cross-Origin-Opener-Policy", "same-origin"];
  return { html, headers: ancestors.length === 0 ? [...headers, "X-Frame-Options", "DENY"] : headers };
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
