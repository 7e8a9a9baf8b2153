export default function Page() {
  return <h1>playground</h1>;
}
