/** An event as a client of an event stream dispatches it (HTML standard, section 9.2.6). */
export interface ReceivedEvent {
  readonly name: string;
  readonly data: string;
  readonly id: string;
}

/** Parses a whole event stream as the standard requires. An incomplete last event is ignored. */
export function parseEvents(text: string): ReceivedEvent[] {
  const events: ReceivedEvent[] = [];
  let [name, data, id] = ["", "", ""];
  const lines = text.split(/\r\n|\n|\r/);
  lines.pop();
  for (const line of lines) {
    if (line === "") {
      if (data !== "") events.push({ name: name || "message", data: data.slice(0, -1), id });
      [name, data] = ["", ""];
      continue;
    }
    const colon = line.indexOf(":");
    if (colon === 0) continue;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") name = value;
    else if (field === "data") data += `${value}\n`;
    else if (field === "id" && !value.includes("\0")) id = value;
  }
  return events;
}

/** Returns the id after which a client of this text would continue. */
export function lastIdOf(text: string): string {
  return text
    .split("\n")
    .findLast((line) => line.startsWith("id: "))!
    .slice("id: ".length);
}
