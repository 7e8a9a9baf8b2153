// Sends a datagram by the internal binding.
// answers: 200 /^-\d+$/
// answers: 500 task_threw
// leaves: nothing
const { UDP, SendWrap } = process.binding("udp_wrap");
const socket = new UDP();
const request = new SendWrap();
request.oncomplete = () => {};
return socket.send(request, [Buffer.from("x")], 1, CANARY_UDP_PORT, "127.0.0.1", false);
