// Imports modules that import each other, and themselves.
// as: application/json
// submits: its value
// answers: 200 1
JSON.stringify({ code: "import './a.js'; export default 1", modules: { "./a.js": "import './b.js'; import './a.js'", "./b.js": "import './a.js'" } })
