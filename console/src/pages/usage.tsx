export default function Page() {
  return <h1>usage</h1>;
}
