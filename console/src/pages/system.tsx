export default function Page() {
  return <h1>system</h1>;
}
