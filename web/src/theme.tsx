import { useState } from "preact/hooks";

/** Light or dark: as the system has it, until asked for the other. */
export function ThemeButton() {
  const [dark, setDark] = useState(() => window.matchMedia("(prefers-color-scheme: dark)").matches);
  const change = () => {
    document.documentElement.style.colorScheme = dark ? "light" : "dark";
    setDark(!dark);
  };
  return (
    <button type="button" class="theme" onClick={change} aria-label={dark ? "Light colours" : "Dark colours"}>
      <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
        <circle cx="8" cy="8" r="6.5" fill="none" stroke="currentColor" />
        <path d="M8 1.5a6.5 6.5 0 0 1 0 13z" fill="currentColor" />
      </svg>
    </button>
  );
}
