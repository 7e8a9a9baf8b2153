// Sends a header of a megabyte.
// answers: 500 task_threw
return new Response("", { headers: { "x-a": "x".repeat(1 << 20) } });
