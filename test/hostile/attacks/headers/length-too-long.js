// Announces more bytes than it sends, so that a reader takes the missing bytes from the next answer.
// answers: 200 short
return new Response("short", { headers: { "content-length": "5000" } });
