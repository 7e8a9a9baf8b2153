// Returns a value that JSON omits.
// answers: 500 result_unserializable
return Symbol("left out");
