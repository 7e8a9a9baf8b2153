/** The hint for errors whose message a pattern matches. */
export interface ErrorHint {
  readonly pattern: RegExp;
  readonly hint: string;
}

/** Hints for errors of the language and of Node about a value that does not fit. */
export const OF_VALUES: readonly ErrorHint[] = [
  {
    pattern: /^Body is unusable|^Body has already been (?:read|consumed)/,
    hint: "The body of a Request or a Response can be read once: keep what the first call returned, or call clone() before it.",
  },
  {
    pattern: /^Request with GET\/HEAD method cannot have body/,
    hint: 'A GET has no body: send it with another method, as in fetch(url, { method: "POST", body }), or send the values in the URL.',
  },
  {
    pattern: /^The URL must be of scheme file/,
    hint: "The code is no file, so the URL of its module is no path. Data comes with the request, and os.tmpdir() is the folder for files.",
  },
  {
    pattern: /^Cannot access '.{1,64}' before initialization$/,
    hint: "The code uses the name above its declaration with const, let or class: move the declaration up.",
  },
  {
    pattern:
      /^(?:Class constructor .{1,64}|Promise constructor|Constructor .{1,64}) (?:cannot be invoked|requires 'new')/,
    hint: "Write new in front of the call.",
  },
  {
    pattern: /^Reduce of empty array with no initial value$/,
    hint: "The list is empty: give reduce a second argument, the result for an empty list.",
  },
  {
    pattern: /^Invalid time value$/,
    hint: "The date is invalid: check the text that it was made from. Date reads texts such as 2026-12-31 and 2026-12-31T10:00:00Z.",
  },
  {
    pattern: /^Invalid (?:string|array|typed array) length/,
    hint: "The length is negative, no whole number, or larger than a value can be: perhaps a loop adds to the value without end.",
  },
  {
    pattern: /^access permission denied$/,
    hint: 'No task can lock a file. Open a database of SQLite without locks, as "file:" + os.tmpdir() + "/x.db?nolock=1", or in ":memory:".',
  },
  {
    pattern: /^Response constructor: Invalid response status code (?:101|204|205|304)$|^Invalid response status code/,
    hint: "An answer with this status has no body: write new Response(null, { status }).",
  },
  {
    pattern: /: Expected \d{1,9} to be one of: Null, Undefined, Object\.$/,
    hint: "The last argument is an object with the options: write { status: 404 } instead of 404, as in Response.json(value, { status: 404 }).",
  },
  {
    pattern: /: Expected (?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) to be one of: Null, Undefined, Object\.$/,
    hint: 'The last argument is an object with the options: write { method: "POST" } instead of "POST".',
  },
  {
    pattern: /: Expected .{1,200} to be one of: Null, Undefined, Object\.$/,
    hint: 'The last argument is an object with the options, such as { status: 404, headers: { "content-type": "text/html" } }.',
  },
  {
    pattern: /^Promise resolver .{1,200} is not a function$/,
    hint: "A promise needs a function that settles it: write new Promise((resolve, reject) => ...), and call resolve(value) in it.",
  },
  {
    pattern: /^The comparison function must be either a function or undefined/,
    hint: "sort takes a function of two items, or nothing: write list.sort((a, b) => a - b), or list.sort() for texts.",
  },
  {
    pattern: /^init\["status"\] must be in the range/,
    hint: "The status of a Response is a whole number from 200 to 599.",
  },
];
