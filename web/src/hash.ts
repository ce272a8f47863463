import { useEffect, useState } from "preact/hooks";

/** Where the address points to: every piece of evidence has an address of its own, so that it can be linked to. */
export function useHash(): string {
  const [hash, setHash] = useState(() => window.location.hash.slice(1));
  useEffect(() => {
    const changed = () => setHash(window.location.hash.slice(1));
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  return hash;
}

/** Takes the address back to the page as such, without moving to anywhere. */
export function leave(): void {
  history.replaceState(null, "", window.location.pathname + window.location.search);
  window.dispatchEvent(new Event("hashchange"));
}

/** Brings what the address names into sight, opening what hides it. */
export function reveal(hash: string): void {
  const target = document.getElementById(hash.startsWith("frame-") ? "contexts" : hash);
  if (!target) return;
  for (let box = target.closest("details"); box; box = box.parentElement?.closest("details") ?? null) box.open = true;
  if (target instanceof HTMLDetailsElement) target.open = true;
  target.scrollIntoView();
  target.tabIndex = -1;
  target.focus({ preventScroll: true });
}
