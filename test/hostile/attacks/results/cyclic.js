// Returns an object that contains itself.
// answers: 500 result_unserializable
const circle = {};
circle.circle = [circle];
return circle;
