// Fills an envelope with a hundred thousand members that it does not have.
// as: application/json
// submits: its value
// answers: 400 request_invalid
"{" + Array.from({ length: 60_000 }, (_, n) => `"${n}":0`).join() + "}"
