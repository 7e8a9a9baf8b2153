// Connects to a socket of the host by the internal binding for pipes.
// answers: 200 /^-\d+$/
// answers: 500 task_threw
// leaves: nothing
const { Pipe, PipeConnectWrap, constants } = process.binding("pipe_wrap");
const pipe = new Pipe(constants.SOCKET);
const request = new PipeConnectWrap();
const connected = new Promise((resolve) => (request.oncomplete = resolve));
return pipe.connect(request, CANARY_SOCKET) || connected;
