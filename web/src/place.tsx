import { Copy } from "./copy";
import { editorLink, fileAndLine } from "./links";
import { place } from "./words";

/** A line of a file: a link that opens it in the editor, and a button that copies it. */
export function Place({ file, line }: { file: string; line: number }) {
  const link = editorLink(file, line);
  const shown = <code title={file}>{place(file, line)}</code>;
  return (
    <span class="place">
      {link ? <a href={link}>{shown}</a> : shown} <Copy text={fileAndLine(file, line)} what={place(file, line)} />
    </span>
  );
}
