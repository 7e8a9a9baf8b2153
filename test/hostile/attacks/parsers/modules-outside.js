// Gives modules of an envelope names that would replace the harness's own.
// as: application/json
// submits: its value
// answers: 400 request_invalid
// answers: 200
JSON.stringify({ code: "await import('./a.js')", modules: { "./../../guest/guest/main.js": "hijacked", "./a.js": "export {}", "./__proto__": "export {}" } })
