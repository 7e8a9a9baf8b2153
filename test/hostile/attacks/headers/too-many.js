// Sends a thousand headers.
// answers: 500 task_threw
const headers = new Headers();
for (let n = 0; n < 1_000; n++) headers.set(`x-${n}`, "1");
return new Response("", { headers });
