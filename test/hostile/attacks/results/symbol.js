// Returns what JSON leaves out.
// answers: 500 result_unserializable
return Symbol("left out");
