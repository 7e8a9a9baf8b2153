/**
 * The names of tools that the service itself has. A task of the same name would hide the tool, and could deceive the model
 * that calls it.
 */
export const OWN_TOOLS = ["run_code", "save_task", "list_tasks", "get_runs"] as const;

/** The names that all known clients accept. Some refuse the whole list of tools because of another name. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

const CHARACTERS = "1 to 64 letters, digits, _ and -";
/** The rule for the name of a task that is a tool. */
export const TOOL_NAME_RULE: string = `must be ${CHARACTERS}, because clients refuse other tools`;

/** Returns the fault of a task that is a tool, because of its name, or null. The tool has the name of the task. */
export function faultOfToolName(name: string): string | null {
  if (!NAME.test(name)) return `requires a name of ${CHARACTERS}, because clients refuse other tools`;
  const isOwn = (OWN_TOOLS as readonly string[]).includes(name);
  return isOwn ? `requires another name, because the service itself has a tool ${name}` : null;
}
