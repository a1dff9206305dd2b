// test-summary.mjs RECORD: what ctest --output-junit wrote. Prints every test that was skipped and why, by name, on standard error, and
// "PASSED FAILED SKIPPED" on standard output.
import { readFileSync } from "node:fs";

const text = (xml) => xml.replace(/&(lt|gt|quot|apos|amp);/g, (_, name) => ({ lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" })[name]);
const counts = { passed: 0, failed: 0, skipped: 0 };
for (const [, head, body] of readFileSync(process.argv[2], "utf8").matchAll(/<testcase ([^>]*)>([\s\S]*?)<\/testcase>/g)) {
    const [name, status] = ["name", "status"].map((key) => head.match(new RegExp(`${key}="([^"]*)"`))[1]);
    const skipped = status === "disabled" || body.includes('message="SKIP_RETURN_CODE=');
    counts[status === "run" ? "passed" : skipped ? "skipped" : "failed"]++; // a program that is missing has failed
    if (!skipped) continue;
    const said = text(body.match(/<system-out>([\s\S]*?)<\/system-out>/)?.[1] ?? "").trim().split("\n");
    const reason = status === "disabled" ? "this build has no pages" : (said.find((line) => line.startsWith("skipped")) ?? said.at(-1));
    console.error(`not run: ${name}: ${reason.replace(/^skipped:? */, "")}`);
}
console.log(counts.passed, counts.failed, counts.skipped);
