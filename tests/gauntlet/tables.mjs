// The tables of docs/gauntlet.md.
import { availableParallelism, loadavg } from "node:os";

const number = (value) => (Number.isInteger(value) ? `${value}` : value === undefined || Number.isNaN(value) ? "–" : value >= 100 ? value.toFixed(0) : value.toPrecision(3).replace(/\.?0+$/, ""));

const bounds = ({ least, most }) => (least === most ? `= ${number(most)}` : most === Infinity ? `≥ ${number(least)}` : least === 0 ? `≤ ${number(most)}` : `${number(least)} … ${number(most)}`);

/** A table of one verb. */
function verbTable(verb, rows) {
    const measures = rows.find((row) => row.measures.length > 0)?.measures ?? [];
    const head = ["input", "exit", "s", "MB", ...measures.map((measure) => `${measure.name} (${bounds(measure)})`)];
    const lines = rows.map((row) => {
        const values = measures.map(({ name }) => number(row.measures.find((measure) => measure.name === name)?.value));
        return [row.input.name, row.code ?? "–", number(row.seconds), number(Math.round(row.megabytes)), ...values];
    });
    const failures = rows.filter(({ failure }) => failure).map((row) => `- ${row.input.name}: ${row.failure}`);
    return [
        `## ${verb.name}`,
        `${verb.about}.`,
        [head, head.map((_, column) => (column ? "---:" : "---")), ...lines].map((cells) => `| ${cells.join(" | ")} |`).join("\n"),
        ...(failures.length > 0 ? [`Failed:`, failures.join("\n")] : []),
    ].join("\n\n");
}

/** The worst value of each measure of a verb, in words. */
function worst(rows) {
    const names = [...new Set(rows.flatMap(({ measures }) => measures.map(({ name }) => name)))];
    return names
        .map((name) => {
            const values = rows.flatMap((row) => row.measures.filter((measure) => measure.name === name));
            const largest = Math.max(...values.map(({ value }) => value));
            return `${name} ${values[0].most === Infinity ? `at least ${number(Math.min(...values.map(({ value }) => value)))}` : number(largest)} (${bounds(values[0])})`;
        })
        .join(", ");
}

export function markdown(verbs, rows, three, settings) {
    const of = (verb) => rows.filter((row) => row.verb === verb);
    const run = verbs.filter((verb) => of(verb).length > 0);
    const summary = run.map((verb) => {
        const mine = of(verb);
        return `| ${verb.name} | ${mine.length} | ${mine.filter(({ failure }) => failure).length} | ${number(Math.max(...mine.map(({ seconds }) => seconds || 0)))} | ${worst(mine)} |`;
    });
    return `${[
        "# Gauntlet",
        `Every verb, with no options, on every real character, clip and capture, and on scenes of Pelt's own, each at ${settings} random settings. ` +
            "`make gauntlet` writes this page. Each run must end with exit code 0 within 20 minutes, and each measure must lie within the bound in " +
            `its column's head. Seconds are elapsed, ${availableParallelism()} runs at a time, at a load average of ${loadavg()[2].toFixed(0)}; MB is the peak resident memory. ` +
            "*New complaints* are those of the Khronos validator that the source did not have. *Reach of the box* is how far the box of all " +
            "frames reaches from the middle of the source's box: 1 for the same box.",
        `Three (\`GLTFLoader\`) evaluated a sample of the written files in rest and at random times of every clip: ${three}.`,
        ["| verb | runs | failed | longest, s | worst values (bounds) |", "|---|---:|---:|---:|---|", ...summary].join("\n"),
        ...run.map((verb) => verbTable(verb, of(verb))),
    ].join("\n\n")}\n`;
}
