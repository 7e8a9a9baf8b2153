// Splits the response with line breaks in a forged head.
// after: frames
// answers: 500 task_exited
forge(66, own, JSON.stringify({ status: 200, headers: ["x-a", "1\r\nSet-Cookie: a=b\r\n\r\n<script>"] }));
return never;
