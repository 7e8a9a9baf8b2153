export default function Page() {
  return <h1>tasks</h1>;
}
