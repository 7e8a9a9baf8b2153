// Replaces the matching of regular expressions.
// answers: 200 "replaced"
RegExp.prototype.exec = () => null;
RegExp.prototype.test = () => false;
for (const symbol of [Symbol.replace, Symbol.match, Symbol.split, Symbol.matchAll, Symbol.search]) {
  RegExp.prototype[symbol] = () => "hijacked";
}
return "replaced";
