import { render } from "preact";

import { App } from "./app.tsx";
import { restore, setting } from "./session.ts";

const accent = setting("accent");
if (accent !== null) document.documentElement.style.setProperty("--accent", accent);
await restore();
render(<App />, document.getElementById("app")!);
