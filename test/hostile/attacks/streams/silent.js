// Begins a stream and never gives a byte.
// lasts: for ever
// answers: 200 cut
return new ReadableStream({});
