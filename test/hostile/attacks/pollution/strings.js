// Replaces the methods of strings, by which texts are read and headers are told apart.
// answers: 200 "replaced"
for (const name of Object.getOwnPropertyNames(String.prototype)) {
  if (name !== "constructor" && typeof ""[name] === "function") String.prototype[name] = () => "hijacked";
}
return "replaced";
