/** The characters in which another language is looked for. */
const MAX_BEGINNING = 8_192;

/**
 * Lines of Python that are not JavaScript: `def f(x):`, an import without quotes, a block that begins with a colon, a list
 * comprehension, `is None`, `elif`, `a if b else c`, `not`, `lambda`, an f-string, a docstring, and `print "text"`.
 */
const PYTHON: readonly RegExp[] = [
  /^[ \t]*(?:async[ \t]+)?def[ \t]+\w+[ \t]*\([^)\n]{0,200}\)[^\n:]{0,100}:/m,
  /^(?:from[ \t]+[\w.]{1,100}[ \t]+)?import[ \t]+[\w.]{1,100}(?:[ \t]+as[ \t]+\w+)?[ \t]*\r?$/m,
  /^[ \t]*(?:async[ \t]+)?(?:for|while|if|elif|else|try|except|finally|with|class)\b[^\n{?]{0,200}:[ \t]*(?:#[^\n]*)?\r?$/m,
  /^[ \t]*(?:for[ \t]+\w{1,64}[ \t]+in[ \t]|(?:if|elif|while)[ \t]+[^\n({?]{1,200}:[ \t]|(?:if|while|return)[ \t]+not[ \t])/m,
  /[[({][^\n]{1,200}\bfor[ \t]+\w{1,64}(?:,[ \t]*\w{1,64})?[ \t]+in[ \t]/,
  /\bis[ \t]+(?:not[ \t]+)?None\b|\bnot[ \t]+in[ \t]|^[ \t]*elif\b/m,
  /^[ \t]*(?:\w{1,64}[ \t]*=|return\b)[^\n{;]{1,200}[ \t]if[ \t][^\n{;]{1,200}[ \t]else[ \t]/m,
  /(?:^|[=(,:])[ \t]*lambda\b[^\n]{0,200}:|\breturn[ \t]+lambda\b/m,
  /(?:^|[=(,[+]|\breturn\b)[ \t]*f(?:"[^"\n]*"|'[^'\n]*')/m,
  /^[ \t]*(?:"""|''')/m,
  /^[ \t]*print[ \t]+f?["']/m,
];

const OTHERS: readonly { pattern: RegExp; verb: "is" | "looks like"; name: string }[] = [
  { pattern: /^\s*<\?php\b/, verb: "is", name: "PHP" },
  {
    pattern: /^\s*(?:echo|sudo|curl|cd|npm|npx|pip|apt|git|docker)[ \t]+[\w./~"'$-]/,
    verb: "looks like",
    name: "a command of a shell",
  },
  {
    pattern: /^\s*(?:SELECT\s[^;]{1,500}\sFROM|INSERT\s+INTO|CREATE\s+TABLE|UPDATE\s+\w+\s+SET|DELETE\s+FROM)\s/i,
    verb: "looks like",
    name: "SQL",
  },
  { pattern: /^\s*<\?=/, verb: "is", name: "PHP" },
  {
    pattern: /^\s*package\s+\w{1,100}[ \t]{0,20}[;\r\n]\s{0,100}(?:import\s*[("]|func\b|type\b|var\b|const\b|\/\/|$)/,
    verb: "looks like",
    name: "Go",
  },
  {
    pattern:
      /^[ \t]*(?:use[ \t]+(?:std|crate|serde|tokio)::|(?:pub[ \t]+)?(?:async[ \t]+)?fn[ \t]+\w+[ \t]*[(<]|let[ \t]+mut[ \t]+\w|\w*print(?:ln)?!\()/m,
    verb: "looks like",
    name: "Rust",
  },
  {
    pattern:
      /^[ \t]*(?:using[ \t]+[\w.]+;|namespace[ \t]+[\w.]+;)|\bstatic[ \t]+(?:async[ \t]+)?(?:void|int|Task)[ \t]+Main[ \t]*\(|\bConsole\.(?:Write|Read)Line\(/m,
    verb: "looks like",
    name: "C#",
  },
  {
    pattern: /^[ \t]*#[ \t]*include[ \t]*[<"]|^[ \t]*(?:int|void)[ \t]+main[ \t]*\([^()\n]{0,100}\)\s{0,20}\{/m,
    verb: "looks like",
    name: "C",
  },
  {
    pattern:
      /^[ \t]*(?:public|private|protected)[ \t]+(?:(?:static|final|abstract)[ \t]+)*(?:class|interface|enum|record|void|int|long|double|boolean|String)(?:\[\])?[ \t]+\w|\bSystem\.out\.print|^[ \t]*import[ \t]+(?:static[ \t]+)?javax?\./m,
    verb: "looks like",
    name: "Java",
  },
  { pattern: /^[ \t]*func[ \t]+(?:\([^()\n]{1,100}\)[ \t]*)?\w+[ \t]*\(/m, verb: "looks like", name: "Go or Swift" },
  { pattern: /^[ \t]*(?:suspend[ \t]+)?fun[ \t]+\w+[ \t]*\(/m, verb: "looks like", name: "Kotlin" },
  {
    pattern: /^[ \t]*echo[ \t]+(?:\$\w|["'][^"'\n]{0,200}["'][ \t]*;|\w+\()|^[ \t]*\$\w+[ \t]*=[ \t]*array\(/m,
    verb: "looks like",
    name: "PHP",
  },
  { pattern: /[\w)\]][ \t]*(?:\bdo|\{)[ \t]*\|\w+(?:,[ \t]*\w+)*\|/, verb: "looks like", name: "Ruby" },
];
/** A variable with its type in front, as in C, Java and C#. */
const TYPED =
  /^[ \t]*(?:int|long|float|double|bool|boolean|char|string|String|auto|val|final[ \t]+\w+)[ \t]+(\w{1,40})[ \t]*=(?!=)/m;
const PUTS = /^\s*puts\s+["'\w]/;
const RUBY = /^[ \t]*def[ \t]+\w+[^\n]*\n(?:[^]{0,2000}\n)?[ \t]*end[ \t]*$/m;

/** A first line of at least three words and no sign of code. A statement of JavaScript begins with one of the words. */
const PROSE =
  /^\s*(?!(?:abstract|async|await|case|class|const|declare|default|delete|do|else|enum|export|for|function|get|if|import|interface|let|new|return|set|static|switch|throw|try|type|typeof|var|void|while|yield)\b)[A-Za-z][\w'’]{0,40}(?:[,!.:]?[ \t]+[\w'’*-]{1,40}){2}[^=(){};<>[\]`\n]{0,500}(?:\n|$)/;

/** Returns the hint for a text that does not parse because it is of another language, or no code at all; otherwise null. */
export function otherLanguageHint(text: string): string | null {
  const beginning = text.slice(0, MAX_BEGINNING);
  if (PYTHON[0]!.test(beginning)) return onlyJavaScript("looks like", "Python");
  for (let index = 0; index < OTHERS.length; index += 1) {
    const { pattern, verb, name } = OTHERS[index]!;
    if (pattern.test(beginning)) return onlyJavaScript(verb, name);
  }
  if (RUBY.test(beginning) || PUTS.test(beginning)) return onlyJavaScript("looks like", "Ruby");
  for (let index = 1; index < PYTHON.length; index += 1) {
    if (PYTHON[index]!.test(beginning)) return onlyJavaScript("looks like", "Python");
  }
  const typed = TYPED.exec(beginning)?.[1];
  if (typed !== undefined)
    return `A variable is declared with const or let, without its type in front: const ${typed} = ...`;
  if (/^[ \t]*#(?:[ \t]|$)/m.test(beginning)) return "A comment of JavaScript begins with //, and not with #.";
  return PROSE.test(beginning) ? "The text begins with a sentence. Send only code." : null;
}

function onlyJavaScript(verb: string, name: string): string {
  return `The text ${verb} ${name}. Only JavaScript and TypeScript run here.`;
}
