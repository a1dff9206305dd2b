// docs-api.mjs [OUT.html] [--headers FOLDER]: an API reference of the public headers, as one HTML page. Without OUT it only
// checks that every function, type and struct field has a comment, and that no declaration is misread.
//
// Reads the subset of C that the headers use: comments, #define, typedefs, and functions marked PELT_API. A comment belongs to the
// declaration below it, or, at a field or an enumerator, to the declaration on its own line. A comment followed by an
// empty line is a text of its own; "---- Title ----" begins a section.
import { readFileSync, readdirSync, writeFileSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const SECTION = /^-{3,} (.*?) -{3,}$/;
const DEFAULTS = /^(?:PELT_EXPERIMENTAL )?pelt_\w+_desc (pelt_\w+_desc_default)\(void\)$/;
const SELF_EXPLAINED = /_(desc|report)$/; // structs of settings and results: their fields and functions have comments
const OPTIONS = /^(?:PELT_EXPERIMENTAL )?const pelt_option_table \*(pelt_\w+_options)\(void\)$/;

// The text of a comment, without its frame of stars.
const commentText = (source) =>
    source.replace(/^\/\*+|\*+\/$/g, "").split("\n").map((line) => line.replace(/^\s*\* ?/, "")).join("\n")
        .replace(/^[ \t]*\n|\s+$/g, "").replace(/^ /, "");

// Splits a header into comments, preprocessor lines and declarations (to the `;` outside of braces), each with its line number.
function tokens(source) {
    const found = [];
    for (let at = 0; at < source.length;) {
        const rest = source.slice(at);
        const start = at;
        let kind;
        if (/^\s/.test(rest)) {
            at += rest.match(/^\s+/)[0].length;
            continue;
        } else if (rest.startsWith("/*")) {
            kind = "comment";
            at = source.indexOf("*/", at) + 2;
        } else if (rest.startsWith("#")) {
            kind = "directive";
            at += rest.match(/^(?:[^\n]*\\\n)*[^\n]*/)[0].length;
        } else if (/^(extern "C" \{|\})/.test(rest)) {
            at += rest.match(/^(extern "C" \{|\})/)[0].length;
            continue;
        } else {
            kind = "declaration";
            for (let depth = 0; at < source.length; at++) {
                if (source.startsWith("/*", at)) at = source.indexOf("*/", at) + 1;
                else if (source[at] === "{") depth++;
                else if (source[at] === "}") depth--;
                else if (source[at] === ";" && depth === 0) break;
            }
            at++;
        }
        const text = source.slice(start, at);
        found.push({ kind, text, line: source.slice(0, start).split("\n").length, blankAfter: /^\s*\n\s*\n/.test(source.slice(at)) });
    }
    return found;
}

// Fields of a struct, or enumerators: declarations divided by `;` or `,`, with comments above, or behind on the same line.
function members(body, divider) {
    const found = [];
    body = body.replace(/^#.*$/gm, "");
    let above = "", declaration = "", open = false, depth = 0;
    for (const [piece] of body.matchAll(/\/\*[^]*?\*\/|\n|[^\n/]+|\//g)) {
        if (piece.startsWith("/*")) {
            const text = commentText(piece);
            if (open) {
                found.at(-1).heading = found.at(-1).comment; // a comment above as well is one for the group that begins here
                found.at(-1).comment = text;
            }
            else if (declaration.trim()) above += text; // inside a declaration, as in `char /* x */ *name;`
            else above = text;
            continue;
        }
        if (piece === "\n") {
            open &&= Boolean(declaration.trim());
            declaration += " ";
            continue;
        }
        for (const character of piece) {
            if (character === "(") depth++;
            if (character === ")") depth--;
            if (character === divider && depth === 0) {
                found.push({ code: declaration.trim().replace(/\s+/g, " "), comment: above });
                above = declaration = "";
                open = true;
            } else {
                declaration += character;
            }
        }
    }
    if (declaration.trim()) {
        // The last enumerator has no comma: its comment was taken for one above.
        found.push({ code: declaration.trim().replace(/\s+/g, " "), comment: above });
    }
    return found;
}

const FUNCTION = /^(PELT_EXPERIMENTAL\s+)?PELT_API\b/;
const headOf = (text) => text.replace(/\/\*[^]*?\*\//g, " ").replace(/\s+/g, " ").trim();

// The names that a member declares: `float start, end`, `float a[3]`, `void (*release)(…)`, `NAME = 1`.
const memberNames = (code) => {
    const pointer = code.match(/\(\*(?:const )?(\w+)\)/);
    if (pointer) return [pointer[1]];
    return code.replace(/ = .*/, "").replace(/\[[^\]]*\]/g, "").split(",").map((part) => part.match(/(\w+)\s*$/)?.[1]).filter(Boolean);
};

// Functions defined in a header count as declared there.
const readHeader = (path) => readFileSync(path, "utf8").replace(/^static inline ([^{;]*?) \{\n[^]*?^\}$/gm,
    (all, head) => `PELT_API ${head};` + "\n".repeat(all.split("\n").length - head.split("\n").length));

function parse(path) {
    const items = [];
    let pending = null;
    for (const token of tokens(readHeader(path))) {
        if (token.kind === "comment") {
            if (pending) items.push({ kind: "text", ...pending });
            const text = commentText(token.text);
            const section = text.match(SECTION);
            pending = section ? null : { comment: text, line: token.line };
            if (section) items.push({ kind: "section", name: section[1], line: token.line });
            if (pending && token.blankAfter) {
                items.push({ kind: "text", ...pending });
                pending = null;
            }
            continue;
        }
        const comment = pending?.comment ?? "";
        const item = { comment, line: token.line };
        if (token.kind === "directive") {
            const [, name, parameters, value] = token.text.match(/^#define (PELT_\w+)(\([^)]*\))?\s*([^]*)/) ?? [];
            if (!name || !value) {
                if (pending && !name) items.push({ kind: "text", ...pending });
                pending = null;
                continue;
            }
            const behind = value.match(/\/\*[^]*?\*\//)?.[0];
            items.push({
                kind: "macro", name, ...item, comment: comment || (behind ? commentText(behind) : ""),
                code: `#define ${name}${parameters ?? ""}${parameters ? " …" : " " + headOf(value)}`,
                list: parameters === "(X)" && [...value.matchAll(/X\((\w+), "([^"]*)"\)/g)].map(([, code, text]) => ({ code: `PELT_${code}`, comment: text })),
            });
        } else if (FUNCTION.test(token.text)) {
            const code = headOf(token.text).replace("PELT_API ", "").replace(/;$/, "");
            const standard = DEFAULTS.test(code) ? "Defaults of the desc, with its cookie." :
                OPTIONS.test(code) ? "The option table of the desc." : "";
            items.push({ kind: "function", name: code.match(/(\w+)\(/)?.[1], ...item, code: code + ";", comment: comment || standard });
        } else {
            const record = token.text.match(/^typedef (struct|enum) (\w+) \{([^]*)\} (\w+);$/);
            if (record) {
                const [, kind, , body, name] = record;
                const list = items.find((it) => it.kind === "macro" && body.includes(`${it.name}(`))?.list; // X(NAME, "text") …
                items.push({ kind, name, ...item, members: list ?? members(body, kind === "struct" ? ";" : ",") });
            } else {
                const code = headOf(token.text);
                const opaque = code.match(/^typedef struct (\w+) \1;$/);
                const name = opaque?.[1] ?? code.match(/^typedef .*?\b(\w+)\(.*\);$/)?.[1];
                items.push({ kind: "type", name, ...item, code });
            }
        }
        pending = null;
    }
    return items;
}

// What is missing or was not understood, as lines `header:line: message`.
function problems(header, source, items) {
    const found = [];
    const say = (item, message) => found.push(`${header}:${item.line}: ${message}`);
    for (const item of items) {
        if (item.kind === "section" || item.kind === "text") continue;
        if (!item.name) say(item, `cannot read this declaration: ${item.code}`);
        else if (!item.comment && item.kind !== "macro" && !SELF_EXPLAINED.test(item.name) &&
            !(item.kind === "enum" && item.members.every((member) => member.comment)))
            say(item, `${item.kind} ${item.name} has no comment`);
        if (item.kind !== "struct") continue;
        for (const member of item.members) {
            if (memberNames(member.code).length === 0) say(item, `cannot read this field of ${item.name}: ${member.code}`);
            else if (!member.comment) say(item, `field ${item.name}.${memberNames(member.code).join(", ")} has no comment`);
        }
    }
    const functions = (source.replace(/\/\*[^]*?\*\//g, "").match(new RegExp(FUNCTION, "gm")) ?? []).length;
    const read = items.filter((item) => item.kind === "function").length;
    if (functions !== read) found.push(`${header}:1: ${functions} functions are marked PELT_API, ${read} were read`);
    return found;
}

// ---- The page ----

const escape = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const anchorsOf = (headers) => {
    const anchors = new Set();
    for (const { items } of headers) {
        for (const item of items) {
            if (item.name && item.kind !== "section") anchors.add(item.name);
            if (item.kind === "enum") for (const member of item.members) anchors.add(memberNames(member.code)[0]);
        }
    }
    return anchors;
};

function page(headers) {
    const anchors = anchorsOf(headers);
    const linked = (text, self) => escape(text).replace(/\b(?:pelt|PELT)_\w+/g, (name) =>
        name !== self && anchors.has(name) ? `<a href="#${name}">${name}</a>` : name);
    // Tables and diagrams of a comment are aligned by blanks: keep lines that are, join others.
    const prose = (text) => text.split(/\n\s*\n/).map((paragraph) => /^ {2,}|\S {3,}\S/m.test(paragraph)
        ? `<pre class="text">${linked(paragraph)}</pre>` : `<p>${linked(paragraph).replace(/`([^`]+)`/g, "<code>$1</code>")}</p>`).join("\n");
    const member = (kind, { code, comment, heading }) => {
        const name = memberNames(code)[0];
        const group = heading ? `<tr><th colspan="2">${linked(heading)}</th></tr>` : "";
        return `${group}<tr${kind === "enum" ? ` id="${name}"` : ""}><td><code>${linked(code, name)}</code></td>` +
            `<td>${linked(comment).replace(/`([^`]+)`/g, "<code>$1</code>")}</td></tr>`;
    };
    const item = (it) => {
        if (it.kind === "section") return `<h3>${escape(it.name)}</h3>`;
        if (it.kind === "text") return prose(it.comment);
        const head = `<h4 id="${it.name}"><a href="#${it.name}">${it.name}</a> <small>${it.kind}</small></h4>`;
        const code = it.code ? `<pre>${linked(it.code, it.name)}</pre>` : "";
        const table = it.members ? `<table>${it.members.map((m) => member(it.kind, m)).join("\n")}</table>` : "";
        return `<section>${head}${code}${prose(it.comment)}${table}</section>`;
    };
    const menu = ({ name, items }) => `<details><summary><a href="#${name}">${name}</a></summary><ul>${items
        .filter((it) => it.name && it.kind !== "section" && it.kind !== "macro")
        .map((it) => `<li><a href="#${it.name}">${it.name}</a></li>`).join("")}</ul></details>`;
    const body = ({ name, items }) => `<h2 id="${name}">pelt/${name}</h2>\n${items.map(item).join("\n")}`;
    return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Pelt: API reference</title>
<style>
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { margin: 0; display: grid; grid-template-columns: 17rem minmax(0, 1fr); }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1rem; box-sizing: border-box; border-right: 1px solid #8884; }
nav ul { list-style: none; margin: 0 0 .5rem; padding-left: 1rem; font-size: 13px; }
main { padding: 1rem 2rem 50vh; max-width: 60rem; }
pre, code { font: 13px/1.45 ui-monospace, monospace; }
pre { background: #8881; padding: .6rem .8rem; border-radius: 4px; overflow-x: auto; white-space: pre-wrap; }
pre.text { white-space: pre; }
table { border-collapse: collapse; width: 100%; }
td { vertical-align: top; padding: .25rem .6rem .25rem 0; border-top: 1px solid #8883; }
th { text-align: left; font-weight: normal; font-style: italic; padding-top: .8rem; }
td:first-child { width: 42%; }
h2 { border-bottom: 2px solid #8886; margin-top: 3rem; }
h4 { margin: 2rem 0 .3rem; } h4 a { color: inherit; text-decoration: none; } small { font-weight: normal; opacity: .6; }
:target { background: #fd06; }
a { color: #27c; } @media (prefers-color-scheme: dark) { a { color: #7af; } }
@media (max-width: 45rem) { body { display: block; } nav { position: static; height: auto; } main { padding: 1rem; } }
</style>
<nav><b>Pelt API</b>${headers.map(menu).join("\n")}</nav>
<main><h1>Pelt: API reference</h1>
<p>Generated from <code>include/pelt/*.h</code> by <code>make docs-api</code>.</p>
${headers.map(body).join("\n")}
</main></html>
`;
}

const arguments_ = process.argv.slice(2);
const at = arguments_.indexOf("--headers");
const folder = at < 0 ? join(dirname(fileURLToPath(import.meta.url)), "../include/pelt") : arguments_.splice(at, 2)[1];
const out = arguments_[0];

const headers = readdirSync(folder).filter((name) => name.endsWith(".h")).sort()
    .map((name) => ({ name, source: readHeader(join(folder, name)), items: parse(join(folder, name)) }));
const wrong = headers.flatMap(({ name, source, items }) => problems(name, source, items));
for (const line of wrong) console.error(line);
const count = (kind) => headers.reduce((sum, { items }) => sum + items.filter((item) => item.kind === kind).length, 0);
console.log(`${headers.length} headers, ${count("function")} functions, ${count("struct")} structs, ${count("enum")} enums; ` +
    `${wrong.length} without a comment or not readable`);
if (out) {
    mkdirSync(dirname(out), { recursive: true });
    writeFileSync(out, page(headers));
}
process.exit(wrong.length ? 1 : 0);
