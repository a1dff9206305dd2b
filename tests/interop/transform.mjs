// transform.mjs IN OUT [--compress]: a file through glTF-Transform, as `gltf-transform optimize` treats it, but for
// leaving out triangles, and keys only where they say nothing. --compress: meshopt, and quantised.
import { parseArgs } from "node:util";
import { NodeIO } from "@gltf-transform/core";
import { ALL_EXTENSIONS } from "@gltf-transform/extensions";
import { dedup, flatten, join, meshopt, prune, resample, sparse, weld } from "@gltf-transform/functions";
import { MeshoptDecoder, MeshoptEncoder } from "meshoptimizer";

const { values: options, positionals } = parseArgs({ allowPositionals: true, options: { compress: { type: "boolean", default: false } } });
await MeshoptDecoder.ready;
await MeshoptEncoder.ready;
const io = new NodeIO().registerExtensions(ALL_EXTENSIONS).registerDependencies({ "meshopt.decoder": MeshoptDecoder, "meshopt.encoder": MeshoptEncoder });
const document = await io.read(positionals[0]);
await document.transform(dedup(), flatten(), join(), weld(), resample({ tolerance: 1e-6 }), prune({ keepAttributes: true }), sparse(), ...(options.compress ? [meshopt({ encoder: MeshoptEncoder })] : []));
await io.write(positionals[1], document);
