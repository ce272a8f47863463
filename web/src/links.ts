/** Addresses of source files. Recorded paths may hold anything, so every part is escaped and the scheme is ours. */

/** Opens the file at its line in an editor; null where the path does not say where the file is. */
export function editorLink(file: string, line: number): string | null {
  if (!file.startsWith("/")) return null;
  return `vscode://file${escaped(file)}${line > 0 ? `:${line}` : ""}`;
}

/** The file itself: browsers follow this from pages that are files, too. */
export function fileLink(file: string, protocol: string): string | null {
  return file.startsWith("/") && protocol === "file:" ? `file://${escaped(file)}` : null;
}

/** As compilers write places, and terminals and editors read them. */
export function fileAndLine(file: string, line: number): string {
  return line > 0 ? `${file}:${line}` : file;
}

function escaped(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}
