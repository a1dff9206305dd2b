// The tables of docs/interop.md.

const table = (head, rows) => [head, head.map((_, n) => (n ? "---:" : "---")), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

/** Numbers of notes and failures that stand below a table. */
function footnotes() {
    const texts = [];
    return {
        of: (text) => {
            if (!texts.includes(text)) texts.push(text);
            return `[${texts.indexOf(text) + 1}]`;
        },
        list: () => texts.map((text, n) => `[${n + 1}] ${text}  `).join("\n"),
    };
}

const value = (error) => (error === undefined || Number.isNaN(error) ? "" : error === 0 ? "0" : Number.isFinite(error) && error < 1e3 ? error.toExponential(0) : "huge");

function cellText(cell, notes) {
    if (!cell || cell.none) return "–";
    if (cell.skipped) return `– ${notes.of(cell.skipped)}`;
    if (cell.ok) return `${value(cell.error)}${cell.note ? ` ${notes.of(cell.note)}` : ""}`;
    return `**✗ ${value(cell.error)}**${Number.isNaN(cell.error ?? NaN) ? ` ${notes.of(cell.text)}` : ""}`;
}

function section(title, about, head, rows) {
    if (rows.length === 0) return [];
    const notes = footnotes();
    const body = table(head, rows.map(({ name, cells }) => [name, ...cells.map((cell) => cellText(cell, notes))]));
    return [`## ${title}`, about, body, ...(notes.list() ? [notes.list()] : [])];
}

/** docs/interop.md: the programs, and a table each for kinds, ways, FBX and rigs, { rows, columns }. `whole` is false where rows are missing. */
export function markdown({ programs, kinds, ways, fbx, rigs, whole }) {
    const limits = programs.map(({ name, about, bound, limit, blends, influences }) => [
        name,
        about,
        (bound ?? 1e-4).toExponential(0),
        [limit, blends && "interpolates rotations on a straight line (nlerp)", influences && `plays ${influences.words}`].filter(Boolean).join("; ") || "none",
    ]);
    return `${[
        "# What other programs make of Pelt's files",
        ...(whole ? [] : ["**Not complete: the run that wrote this page was interrupted.**"]),
        "`make interop` writes this page. Each number is the largest distance of any vertex between what a program shows and Pelt's own " +
            "evaluation, as a share of the model's size: in rest, at keys and halfway between keys. **✗** is a number above the program's bound, " +
            "or a file that it does not read. Where a program is above it because it interpolates rotations in its own way, it is compared with three " +
            "in that way, and where it plays fewer influences than the file has, with Pelt's evaluation of those; a note has that distance.",
        table(["program", "what runs", "bound", "its own limits"], limits).replaceAll("---:", "---"),
        ...section("Kinds of file", "Made from Pelt's own scenes, with no options but those that the row names.", ["kind", ...kinds.columns], kinds.rows),
        ...section(
            "The way back",
            "Files that other programs write. *Read*: Pelt's evaluation of them against that of three with the specification's interpolation and all " +
                "influences, to 1e-5. *Plays*: what became of a file that Pelt wrote, to 1e-3 of the size, or, where the program quantises, 2e-3 (gltfpack) and 4e-3 (glTF-Transform).",
            ["written by", ...ways.columns],
            ways.rows,
        ),
        ...section(
            "FBX files",
            "The kinds above, converted to FBX, against Pelt's evaluation of the GLB: Blender (`File > Import > FBX` as it is set), assimp (without morph weights at rest, which 5.2 sets to 1), three's `FBXLoader`, " +
                "and npm `fbx2gltf`, which is Autodesk's SDK, baked at 60 Hz and played by three. Units and axes of the file are taken into account.",
            ["kind", ...fbx.columns],
            fbx.rows,
        ),
        ...section("Rigs", "Every rig of the real data through the verbs, then three and Blender. *decompose* has 24 bones and the rig's first motion.", ["rig", ...rigs.columns], rigs.rows),
    ].join("\n\n")}\n`;
}
