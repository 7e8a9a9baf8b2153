// Replaces JSON, and changes the JSON of values.
// answers: 200 "replaced"
JSON.stringify = JSON.parse = () => "hijacked";
Object.prototype.toJSON = String.prototype.toJSON = Number.prototype.toJSON = () => "hijacked";
delete Object.prototype.toJSON;
delete String.prototype.toJSON;
delete Number.prototype.toJSON;
return "replaced";
