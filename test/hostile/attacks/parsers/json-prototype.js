// Names the prototype of all objects in an envelope.
// as: application/json
// answers: 200 {"polluted":null,"own":["__proto__"]}
{"code": "({ data }) => ({ polluted: ({}).polluted ?? null, own: Object.keys(data) })", "data": {"__proto__": {"polluted": 1}}}
