// Connects by the internal binding, past everything that protects node:net.
// answers: 200 /^-\d+$/
// answers: 500 task_threw
// leaves: nothing
const { TCP, TCPConnectWrap, constants } = process.binding("tcp_wrap");
return new TCP(constants.SOCKET).connect(new TCPConnectWrap(), "127.0.0.1", CANARY_PORT);
