// Replaces the methods of strings, which are used to read texts and to compare headers.
// answers: 200 "replaced"
for (const name of Object.getOwnPropertyNames(String.prototype)) {
  if (name !== "constructor" && typeof ""[name] === "function") String.prototype[name] = () => "hijacked";
}
return "replaced";
