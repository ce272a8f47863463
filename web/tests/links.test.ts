import assert from "node:assert/strict";
import { test } from "node:test";
import { editorLink, fileAndLine, fileLink } from "../src/links.ts";

test("an editor opens the file at its line", () => {
  assert.equal(editorLink("/src/tool.c", 12), "vscode://file/src/tool.c:12");
  assert.equal(editorLink("/src/tool.c", 0), "vscode://file/src/tool.c");
  assert.equal(editorLink("tool.c", 12), null);
});

test("names cannot leave their place in an address", () => {
  assert.equal(editorLink("/a b/c#d?e:f%41.c", 3), "vscode://file/a%20b/c%23d%3Fe%3Af%2541.c:3");
  assert.equal(editorLink("javascript:alert(1)", 3), null);
  assert.equal(fileLink("javascript:alert(1)", "file:"), null);
});

test("files are linked to from pages that are files", () => {
  assert.equal(fileLink("/src/tool.c", "file:"), "file:///src/tool.c");
  assert.equal(fileLink("/src/tool.c", "http:"), null);
  assert.equal(fileAndLine("/src/tool.c", 12), "/src/tool.c:12");
});
