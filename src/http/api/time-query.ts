/** RFC 3339, section 5.6. In a query an unescaped `+` means a space, so an offset may begin with a space. */
const DATE_TIME = /^(\d{4}-\d{2}-\d{2})(?:[Tt](\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?)([Zz]|[+\- ]\d{2}:\d{2}))?$/;

/**
 * Parses a date, which means the start of that day in UTC, or a date-time.
 *
 * @returns Unix milliseconds, or null if the text is neither.
 */
export function parseTime(text: string): number | null {
  const [, date, time, offset] = DATE_TIME.exec(text) ?? [];
  if (date === undefined) return null;
  const ms = Date.parse(
    time === undefined ? `${date}T00:00:00Z` : `${date}T${time}${offset!.replace(" ", "+").toUpperCase()}`,
  );
  if (Number.isNaN(ms)) return null;
  // V8 accepts the 31st of a shorter month, and means the next month.
  return new Date(`${date}T00:00:00Z`).toISOString().startsWith(date) ? ms : null;
}
