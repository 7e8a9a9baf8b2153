// Answers a Response whose body somebody else reads.
// answers: 500 task_threw
const response = new Response("body");
response.body.getReader();
return response;
