import { type Ranges, rangesOf } from "./package-ranges.ts";
import { serviceUrl } from "./session.ts";

/** What the playground runs. */
export interface Draft {
  readonly container: string;
  readonly code: string;
  readonly data: string;
  readonly query: string;
  /** As a reader types them. A draft of an earlier version has none. */
  readonly packages?: string;
}

/** Returns the same run for other programs. None contains the token. */
export function snippetsOf({
  container,
  code,
  data,
  query: typed,
  packages: wanted = "",
}: Draft): Readonly<Record<string, string>> {
  const query = encodedQuery(typed);
  const packages = typedRanges(wanted);
  const envelope = {
    code,
    ...(data.trim() === "" ? {} : { data: json(data) }),
    ...(query === "" ? {} : { query }),
    ...(packages && { packages }),
  };
  const url = `${serviceUrl}/api/runs/${encodeURIComponent(container)}`;
  const options = [
    ...(data.trim() === "" ? [] : [`data: ${data.trim()}`]),
    ...(query === "" ? [] : [`query: ${JSON.stringify(query)}`]),
    ...(packages ? [`packages: ${JSON.stringify(packages)}`] : []),
  ];
  return {
    curl: `curl -sS -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" ${url} --data-binary ${quoted(JSON.stringify(envelope))}`,
    "command line": `printf %s ${quoted(code)} | CAISSON_TOKEN=$TOKEN caisson run - --url ${serviceUrl} --container ${quoted(container)}${
      data.trim() === "" ? "" : ` --input ${quoted(data.trim())}`
    }${[...new URLSearchParams(query)].map(([name, value]) => ` --query ${quoted(`${name}=${value}`)}`).join("")}${Object.entries(
      packages ?? {},
    )
      .map(([name, range]) => ` --package ${quoted(`${name}@${range}`)}`)
      .join("")}`,
    client: `import { Caisson } from "@caisson/client";

const caisson = new Caisson({ url: ${JSON.stringify(serviceUrl)}, token: process.env.TOKEN });
const value = await caisson.run(${JSON.stringify(container)}, ${JSON.stringify(code)}${
      options.length === 0 ? "" : `, { ${options.join(", ")} }`
    });`,
    MCP: JSON.stringify(
      { mcpServers: { caisson: { url: `${serviceUrl}/mcp/${encodeURIComponent(container)}` } } },
      null,
      2,
    ),
  };
}

/** Returns a query as a reader types it, such as `name=it's me`, in the form that a URL needs. */
export function encodedQuery(typed: string): string {
  return new URLSearchParams(typed).toString();
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Quotes a text for a shell (POSIX.1-2024, 2.2.2). */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Returns undefined also for a text that is not finished. */
function typedRanges(text: string): Ranges | undefined {
  try {
    return rangesOf(text);
  } catch {
    return undefined;
  }
}
