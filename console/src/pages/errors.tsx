export default function Page() {
  return <h1>errors</h1>;
}
