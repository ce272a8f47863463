const LONGEST = 36; // characters

interface Names {
  variables: string[];
  functions: string[];
}

/** A sentence with the program's names in it set as code, so that `first` the variable is not first the word, and with
 * what stands between backticks. */
export function Prose({ text, variables, functions }: { text: string } & Names) {
  const any = pattern({ variables, functions });
  return (
    <>
      {text.split("`").flatMap((piece, quote) =>
        // Every second part is what was quoted, or matched.
        (quote % 2 === 1 ? ["", piece] : piece.split(any)).map((part, at) =>
          at % 2 === 1 ? <Name key={`${quote} ${at} ${part}`}>{part}</Name> : part,
        ),
      )}
    </>
  );
}

/** A sentence in which names stand between backticks. */
export function Quoted({ text }: { text: string }) {
  return <>{text.split("`").map((part, at) => (at % 2 === 1 ? <Name key={`${at} ${part}`}>{part}</Name> : part))}</>;
}

/** In one piece, where it fits into a line of a phone: `customer->next` must not end a line at its hyphen. */
function Name({ children }: { children: string }) {
  return <code class={children.length <= LONGEST ? "whole" : undefined}>{children}</code>;
}

/** Functions may be called what sentences are made of (`run`, `time`): such count only where a function is spoken of. */
function pattern({ variables, functions }: Names): RegExp {
  const longestFirst = (names: string[]) => names.sort((a, b) => b.length - a.length).map(escaped);
  const words = functions.filter((name) => /^[a-z]+$/.test(name));
  const names = [...variables, ...functions.filter((name) => !words.includes(name))].filter((name) => name.length > 0);
  const parts = longestFirst(names);
  if (words.length > 0) parts.push(`(?<=\\b(?:calls|called by|of it in|at|from) )(?:${longestFirst(words).join("|")})`);
  parts.push("[\\w:~$]+(?= \\([^() ]+:\\d+\\))"); // find (shelf.c:28)
  return new RegExp(`(?<![\\w$.>:])(${parts.join("|")})(?![\\w$])`);
}

function escaped(name: string): string {
  return name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
