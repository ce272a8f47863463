/** A sentence with the program's names in it set as code, so that `first` the variable is not first the word. */
export function Prose({ text, names }: { text: string; names: string[] }) {
  const known = [...new Set(names)].filter((name) => name.length > 0).sort((a, b) => b.length - a.length);
  if (known.length === 0) return <>{text}</>;
  const any = new RegExp(`(?<![\\w$.>:])(${known.map(escaped).join("|")})(?![\\w$])`, "g");
  return (
    <>
      {text.split(any).map((part, at) =>
        // Every second part is what was matched.
        at % 2 === 1 ? <code key={`${at} ${part}`}>{part}</code> : part,
      )}
    </>
  );
}

function escaped(name: string): string {
  return name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
