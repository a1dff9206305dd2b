// bench_python.mjs BIN: what the Python package costs against calls of the library (bench_python.py). BIN is of a build with -DPELT_PYTHON=ON.
import { existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import * as support from "../tests/node/support.mjs";

const build = path.resolve(process.argv[2], "..");
const animation = ["samba.obj", "samba.pc2"].map((name) => path.join(support.data, "bench", name));
if (!existsSync(animation[0])) support.skip(`no ${animation[0]} (PELT_DATA says where)`);
const script = fileURLToPath(new URL("bench_python.py", import.meta.url));
process.env.PYTHONPATH = path.join(build, "python");
process.stdout.write(support.run("/usr/bin/python3", [script, path.join(build, "lib/libpelt.so"), ...animation]));
