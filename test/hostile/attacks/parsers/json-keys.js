// Fills an envelope with a hundred thousand unknown members.
// as: application/json
// submits: its value
// answers: 400 request_invalid
"{" + Array.from({ length: 60_000 }, (_, n) => `"${n}":0`).join() + "}"
