// Announces more than it sends, so that whoever reads waits for what belongs to the next answer.
// answers: 200 short
return new Response("short", { headers: { "content-length": "5000" } });
