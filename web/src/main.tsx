import "./style.css";
import { render } from "preact";
import type { PageModel } from "./model";
import { Page } from "./page";

const model: PageModel = JSON.parse(document.getElementById("model")?.textContent ?? "");
render(<Page model={model} />, document.getElementById("page") as HTMLElement);
