// Splits the response by a line break in a header.
// answers: 500 task_threw
return new Response("", { headers: { "x-a": "1\r\nset-cookie: a=b" } });
