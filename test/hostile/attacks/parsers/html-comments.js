// Hides the end of the wrapper in comments that only a browser knows.
// answers: 200 null
// answers: 400 code_syntax
<!-- } ); process.exit() ; ( async function () {
--> } )
