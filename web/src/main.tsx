import "./style/base.css";
import "./style/tables.css";
import "./style/source.css";
import "./style/verdict.css";
import "./style/origin.css";
import "./style/values.css";
import "./style/contexts.css";
import "./style/causes.css";
import "./style/relations.css";
import "./style/narrow.css";
import "./style/print.css";
import { render } from "preact";
import type { PageModel } from "./model";
import { Page } from "./page";

const model: PageModel = JSON.parse(document.getElementById("model")?.textContent ?? "");
render(<Page model={model} />, document.getElementById("page") as HTMLElement);
