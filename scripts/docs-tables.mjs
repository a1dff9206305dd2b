// Tables of figures in docs/ and README.md, written by the benchmarks that measure them.
//
//   node scripts/docs-tables.mjs BIN [NAME…]    run the benchmarks in the folder BIN and replace the tables; all, or those named:
//                                               bench_bind, "bench_bind --fit"
//   node scripts/docs-tables.mjs --check        whether every table still is one that its benchmark prints, without running any
//
// In a page, the command and its table stand between two comments:
//
//   <!-- table: bench_reduce ARGUMENT… -->
//   | animation | …
//   <!-- end of table -->
//
// A command that prints several tables is run once; "table 2:" is its second one.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const PLACE = /^<!-- table( \d+)?: (\S+)(.*) -->\n([\s\S]*?)^<!-- end of table -->$/gm;
const BEGIN = /^<!-- table( \d+)?: /gm;

const isRow = (line) => line.startsWith("|");
const isRule = (line) => /^\|[-:| ]+\|$/.test(line);
const cells = (row) => row.split("|").slice(1, -1).map((cell) => cell.trim());

/** Rows of a table in a text, the first one being number 1; empty if there are fewer. */
function rowsOfTable(text, number = 1) {
    const tables = [];
    let inside = false;
    for (const line of text.split("\n")) {
        if (isRow(line) && !inside) tables.push([]);
        inside = isRow(line);
        if (inside) tables.at(-1).push(line);
    }
    return tables[number - 1] ?? [];
}

// ---- Checking ----

/** The text that the sources of the benchmarks print, without the spaces that align columns. */
function printed(sources) {
    return sources.replace(/"\s*\n\s*"/g, "").replaceAll("%%", "%").replace(/\s*\|\s*/g, "|");
}

/** What is wrong with a page's tables, as sentences; `targets` are the benchmarks there are, `sources` their text. */
function problems(page, targets, sources) {
    const found = [];
    const begun = page.match(BEGIN)?.length ?? 0;
    const places = [...page.matchAll(PLACE)];
    if (places.length !== begun || (page.match(/^<!-- end of table -->$/gm)?.length ?? 0) !== begun)
        found.push("a table is not between '<!-- table: COMMAND -->' and '<!-- end of table -->'");
    const text = printed(sources);
    for (const [, , name, args, body] of places) {
        const say = (sentence) => found.push(`${name}${args}: ${sentence}`);
        const rows = rowsOfTable(body);
        if (!targets.includes(name)) say("there is no such benchmark");
        if (rows.length < 3 || !isRule(rows[1])) {
            say("has no table");
            continue;
        }
        const head = cells(rows[0]);
        if (!text.includes(`|${head.join("|")}|`)) say(`prints other columns than ${head.join(" | ")}`);
        for (const row of rows) if (cells(row).length !== head.length) say(`'${row}' has another number of columns`);
    }
    return found;
}

/** Pages that problems() must reject, and one that it must accept. */
function checkChecker() {
    const sources = 'printf("| a  | b |\\n"\n   "|---|---|\\n");';
    const page = (name, rows, end = "<!-- end of table -->") => `text\n<!-- table: ${name} -->\n${rows}\n${end}\n`;
    const good = "| a | b |\n|---|---|\n| 1 | 2 |";
    const wrong = [
        page("bench_none", good),
        page("bench_a", "| a | c |\n|---|---|\n| 1 | 2 |"),
        page("bench_a", "| a | b |\n|---|---|\n| 1 |"),
        page("bench_a", "no table"),
        page("bench_a", good, ""),
    ];
    const check = (text) => problems(text, ["bench_a"], sources).length;
    const second = page("bench_a", good).replace("table:", "table 2:");
    return check(page("bench_a", good)) === 0 && check(second) === 0 && wrong.every((text) => check(text) > 0);
}

function check(pages) {
    const files = readdirSync(path.join(root, "bench"));
    const targets = files.filter((file) => /^bench_.*\.(c|mjs)$/.test(file)).map((file) => path.parse(file).name);
    const sources = files.map((file) => readFileSync(path.join(root, "bench", file), "utf8")).join("\n");
    const found = pages.flatMap((page) => problems(readFileSync(page, "utf8"), targets, sources).map((sentence) => `${page}: ${sentence}`));
    if (!checkChecker()) found.push("the check accepts what it must reject, or the reverse");
    if (!pages.some((page) => readFileSync(page, "utf8").match(BEGIN))) found.push("no page has a table");
    for (const sentence of found) console.error(`FAIL: ${sentence}`);
    return found.length === 0;
}

// ---- Writing ----

const outputs = new Map();

/** What a command prints. */
function output(bin, name, args) {
    const key = [name, ...args].join(" ");
    if (outputs.has(key)) return outputs.get(key);
    const script = path.join(root, "bench", `${name}.mjs`);
    const command = existsSync(script) ? ["node", script, bin, ...args] : [path.join(bin, name), ...args];
    const { status, stdout, error } = spawnSync(command[0], command.slice(1), { maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "inherit"] });
    if (error || status !== 0) throw new Error(`${command.join(" ")}: ${error?.message ?? `exit ${status}`}`);
    outputs.set(key, stdout.toString());
    return outputs.get(key);
}

/** A table that a command prints. */
function measure(bin, name, args, number) {
    const rows = rowsOfTable(output(bin, name, args), number).map((row) => (isRule(row) ? row : `| ${cells(row).join(" | ")} |`));
    if (rows.length < 3) throw new Error(`${[name, ...args].join(" ")}: prints no table ${number}`);
    return rows.join("\n").replace(/ {2,}/g, " ");
}

/** Writes each table as soon as it is measured: all of them take hours. */
function write(pages, bin, names) {
    for (const page of pages)
        for (const [whole, number, name, args] of readFileSync(page, "utf8").matchAll(PLACE)) {
            if (names.length > 0 && !names.includes(name) && !names.includes(`${name}${args}`)) continue;
            console.log(`${path.relative(root, page)}: ${name}${args}`);
            const table = measure(bin, name, args.trim().split(/\s+/).filter(Boolean), Number(number ?? 1));
            const place = `<!-- table${number ?? ""}: ${name}${args} -->\n${table}\n<!-- end of table -->`;
            writeFileSync(page, readFileSync(page, "utf8").replace(whole, () => place));
        }
}

const [first, ...names] = process.argv.slice(2);
const pages = readdirSync(path.join(root, "docs"), { recursive: true })
    .filter((name) => name.endsWith(".md"))
    .map((name) => path.join(root, "docs", name));
pages.push(path.join(root, "README.md"));
if (first === "--check") process.exitCode = check(pages) ? 0 : 1;
else write(pages, path.resolve(first), names);
