// Nests the data of an envelope deeper than any stack.
// as: application/json
// submits: its value
// answers: 400 request_invalid
'{"code":"1","data":' + "[".repeat(100_000) + "]".repeat(100_000) + "}"
