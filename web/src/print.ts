/** What was closed has been opened, and can be measured and drawn. */
export const OPENED_FOR_PRINT = "opened-for-print";

/** On paper nothing can be opened by a click: everything is open while the page is printed. */
export function openForPrint(): () => void {
  const opened: HTMLDetailsElement[] = [];
  const before = () => {
    for (const box of document.querySelectorAll<HTMLDetailsElement>("details:not([open])")) {
      box.open = true;
      opened.push(box);
    }
    window.dispatchEvent(new Event(OPENED_FOR_PRINT));
  };
  const after = () => {
    for (const box of opened.splice(0)) box.open = false;
  };
  window.addEventListener("beforeprint", before);
  window.addEventListener("afterprint", after);
  return () => {
    window.removeEventListener("beforeprint", before);
    window.removeEventListener("afterprint", after);
  };
}
