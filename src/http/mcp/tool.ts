import type { CallToolResult, ListToolsResult } from "@modelcontextprotocol/server";
import { z } from "zod";

import { membersProblem, schemaFaults } from "../../members.ts";
import type { Verb } from "../../tokens/claims.ts";
import { containerName } from "../target.ts";
import type { McpCall, McpTarget } from "./mcp-call.ts";

export interface ToolResult extends CallToolResult {
  /** The structured content as JSON in parts, for content that may be large. */
  readonly structuredTexts?: readonly string[];
}
export type ListedTool = ListToolsResult["tools"][number];

/** A call of a tool. */
export interface ToolCall<Arguments> {
  readonly received: McpCall;
  /** The id of its message. */
  readonly id: string | number;
  readonly container: string;
  readonly given: Arguments;
}

/** A tool of the service itself. */
export interface OwnTool<Arguments = never> {
  readonly name: string;
  readonly title: string;
  /** The verb that a token needs. */
  readonly verb: Verb;
  readonly describe: (target: McpTarget) => string;
  readonly isReadOnly: boolean;
  /** Its arguments, except for the container. */
  readonly schema: z.ZodObject;
  readonly call: (call: ToolCall<Arguments>) => Promise<ToolResult>;
}

const CONTAINER = z.string("must be the name of a container, or use the address /mcp/{container}").meta({
  description: "the name of the container, such as acme",
});

/** The schemas of arguments as JSON Schema, which each list has. */
const listed = new WeakMap<z.ZodObject, ListedTool["inputSchema"]>();

/** Returns the arguments of a tool. @param target decides whether a call names its container */
export function argumentsOf({ schema }: Pick<OwnTool, "schema">, { container }: McpTarget): z.ZodObject {
  return container === null ? withContainer(schema) : schema;
}

const extended = new WeakMap<z.ZodObject, z.ZodObject>();

function withContainer(schema: z.ZodObject): z.ZodObject {
  const known = extended.get(schema);
  if (known) return known;
  const made = z.strictObject({ container: CONTAINER, ...schema.shape });
  extended.set(schema, made);
  return made;
}

export function jsonSchemaOf(schema: z.ZodObject): ListedTool["inputSchema"] {
  const known = listed.get(schema);
  if (known) return known;
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  const made = rest as ListedTool["inputSchema"];
  listed.set(schema, made);
  return made;
}

/** Reads the arguments of a call. @throws {Problem} `request_invalid` with all faults, `container_invalid` */
export function readArguments(
  tool: Pick<OwnTool, "name" | "schema">,
  target: McpTarget,
  input: unknown,
): { readonly container: string; readonly given: unknown } {
  const schema = argumentsOf(tool, target);
  const parsed = schema.safeParse(input ?? {});
  if (!parsed.success) throw membersProblem(`the arguments of ${tool.name}`, schemaFaults(schema, parsed.error));
  if (target.container !== null) return { container: target.container, given: parsed.data };
  const { container, ...given } = parsed.data;
  return { container: containerName(String(container)), given };
}
