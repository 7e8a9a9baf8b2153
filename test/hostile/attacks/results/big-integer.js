// Returns a BigInt, which JSON does not support.
// answers: 500 result_unserializable
return { n: 1n };
