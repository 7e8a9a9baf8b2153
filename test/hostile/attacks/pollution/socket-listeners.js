// Removes the listeners of the socket on which runs arrive.
// answers: 200 /^"(taken|none)"$/
// strikes: later, by a block
const handles = process._getActiveHandles?.() ?? [];
const own = handles.find((handle) => handle.fd === 3 || handle._handle?.fd === 3);
own?.removeAllListeners();
own?.pause();
return own ? "taken" : "none";
