import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";

const LICENCES = "page-licences.md";

/** One file that needs no other, with a policy that lets nothing run but the very script in it. */
function selfContained(): Plugin {
  return {
    name: "self-contained",
    generateBundle: {
      order: "post", // after the licences have been gathered
      handler(_options, bundle) {
        const files = Object.values(bundle);
        const html = files.find((file) => file.type === "asset" && file.fileName === "index.html");
        const script = files.find((file) => file.type === "chunk");
        const style = files.find((file) => file.type === "asset" && file.fileName.endsWith(".css"));
        if (html?.type !== "asset" || script?.type !== "chunk" || style?.type !== "asset") {
          throw new Error(`one page, one script and one style expected: ${files.map((file) => file.fileName)}`);
        }
        const code = script.code.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--").trim();
        const hash = createHash("sha256").update(code).digest("base64");
        // Charts bring style elements of their own; without scripts, images and connections style can do no harm.
        const policy = `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; font-src data:; base-uri 'none'; form-action 'none'`;
        const page = String(html.source)
          .replace(/\s*<script type="module"[^>]*><\/script>/, "")
          .replace(/\s*<link rel="stylesheet"[^>]*>/, "")
          .replace(
            '<meta charset="utf-8" />',
            () => `<meta charset="utf-8" />\n    <meta http-equiv="Content-Security-Policy" content="${policy}" />`,
          )
          .replace("</head>", () => `  <style>${style.source}</style>\n  </head>`)
          .replace("</body>", () => `  <script type="module">${code}</script>\n  </body>`);
        for (const file of [html, script, style]) delete bundle[file.fileName];
        this.emitFile({ type: "asset", fileName: "page.html", source: page });
      },
    },
  };
}

const FONTS = ["@fontsource-variable/source-serif-4", "@fontsource/ibm-plex-mono"];

/** Fonts are no modules: their licences are added to those that Vite gathers. */
function fontLicences(): Plugin {
  return {
    name: "font-licences",
    generateBundle: {
      order: "post",
      handler(_options, bundle) {
        const gathered = Object.values(bundle).find((file) => file.fileName === LICENCES);
        if (gathered?.type !== "asset") throw new Error("no licences were gathered");
        const texts = FONTS.map((name) => `\n## ${name}\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8")}`);
        gathered.source = String(gathered.source) + texts.join("");
      },
    },
  };
}

export default defineConfig({
  base: "./",
  plugins: [selfContained(), fontLicences()],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../src/whyperf/report/html",
    emptyOutDir: false,
    assetsInlineLimit: 1_000_000,
    modulePreload: false,
    chunkSizeWarningLimit: 2000,
    target: "es2022",
    license: { fileName: LICENCES },
  },
});
