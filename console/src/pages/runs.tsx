export default function Page() {
  return <h1>runs</h1>;
}
