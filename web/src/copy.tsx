import { useState } from "preact/hooks";

const SHOWN_MS = 2000;

/** A button that puts `text` on the clipboard; `what` is what it is called. */
export function Copy({ text, what }: { text: string; what: string }) {
  const [state, setState] = useState<"" | "copied" | "not copied">("");
  const copy = async () => {
    setState((await written(text)) ? "copied" : "not copied");
    setTimeout(() => setState(""), SHOWN_MS);
  };
  return (
    <button type="button" class="copy" aria-label={`Copy ${what}`} onClick={copy}>
      <span aria-live="polite">{state || "copy"}</span>
    </button>
  );
}

/** By way of a text field where the browser has no clipboard for this page, as over plain HTTP. */
async function written(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}
