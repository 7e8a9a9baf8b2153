import { Component, type ComponentChildren } from "preact";

/** Shows the error of a page that fails, so that the navigation stays usable. */
export class Failure extends Component<{ children: ComponentChildren }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  override componentDidCatch(error: Error): void {
    this.setState({ error });
  }

  override render(): ComponentChildren {
    if (this.state.error === null) return this.props.children;
    return (
      <div class="refusal" role="alert">
        <p>This page failed: {this.state.error.message}</p>
        <button type="button" onClick={() => location.reload()}>
          Load again
        </button>
      </div>
    );
  }
}
