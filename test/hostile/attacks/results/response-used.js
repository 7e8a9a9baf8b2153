// Answers with a Response whose body it has read.
// answers: 500 task_threw
const response = new Response("body");
await response.text();
return response;
