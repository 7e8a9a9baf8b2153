export default function Page() {
  return <h1>containers</h1>;
}
