// Starts a stream and never sends a byte.
// lasts: for ever
// answers: 200 cut
return new ReadableStream({});
