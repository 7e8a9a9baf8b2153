// Returns a number that JSON does not have.
// answers: 500 result_unserializable
return { n: 1n };
