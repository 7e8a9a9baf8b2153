// Sends an envelope with ten thousand modules.
// as: application/json
// submits: its value
// answers: 400 request_invalid
// answers: 200 1
JSON.stringify({ code: "return 1", modules: Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`./m${n}.js`, "export {}"])) })
