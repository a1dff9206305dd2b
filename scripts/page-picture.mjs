// page-picture.mjs PAGE OUTPUT.png WIDTHxHEIGHT dark|light [HASH [SCRIPT]]: what a browser shows of a page, for the
// documentation; after a script of the page has run.
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [file, output, size, theme, hash = "", script = ""] = process.argv.slice(2);
const [width, height] = size.split("x").map(Number);
const args = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"];
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args });
const page = await browser.newPage({ viewport: { width, height }, colorScheme: theme });
await page.goto(pathToFileURL(file).href + hash);
await page.evaluate(() => window.pelt.ready);
if (script) await page.evaluate(`(async () => { ${script} })()`);
await page.waitForTimeout(1500); // until errors are measured and drawn
await page.screenshot({ path: output });
await browser.close();
