/** The page: shows its data and handles user input. main.ts starts it; the studio starts it with an engine. */
import { readFile, readPage } from "./data";
import { announce, byId } from "./dom";
import { handJoint, handSession } from "./hands";
import { keepAddress, readLink, writeLink } from "./links";
import { listen, type Shortcut } from "./keys";
import { MODES } from "./modes";
import { readMotions } from "./motions";
import { dragRotation } from "./pointer";
import { Viewer } from "./viewer";

/** What an application adds to the page. */
export interface Host {
    /** Opens files in the place of the page; `motion`: only for their motion. */
    open?(files: File[], motion: boolean): Promise<void>;
    shortcuts?: Shortcut[];
    /** Shows the first thing; default: the data of the page. */
    begin?(): Promise<void>;
    /** Before every frame, with the seconds since the one before. */
    frame?(seconds: number): void;
}
let host: Host = {};

/** Shows a message in browsers without WebGL. */
function makeViewer(): Viewer {
    try {
        return new Viewer();
    } catch (error) {
        byId("headline").textContent = "This page needs WebGL, which this browser does not provide.";
        throw error;
    }
}

export const viewer = makeViewer();
const { store, stage, timeline } = viewer;

// ---- Dark and light ----

const darkByDefault = matchMedia("(prefers-color-scheme: dark)");
let theme: "dark" | "light" | undefined;

function useTheme(): void {
    const dark = theme ? theme === "dark" : darkByDefault.matches;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    byId("theme").textContent = dark ? "Light" : "Dark";
    viewer.useTheme(dark);
}

function switchTheme(): void {
    theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    useTheme();
}

// ---- Files ----

/** Shows a file, or plays its motion on the model that is shown: of files without a surface, and where `motion` asks for it. */
async function openFile(file: File, motion: boolean): Promise<void> {
    try {
        const motions = await readMotions(file);
        if (viewer.subject?.model.joints.length && motions.clips.length > 0 && (motion || !motions.hasSurface)) {
            viewer.addMotions(motions);
            announce(`playing ${file.name}`);
            return;
        }
        await viewer.open(await readFile(file));
        void offerHand();
        store.set({ playing: timeline.current.times.length > 1 });
        announce(`showing ${file.name}`);
    } catch (error) {
        byId("headline").textContent =
            `${file.name} cannot be shown: ${error instanceof Error ? error.message : error}`;
    }
}

async function openFiles(files: File[], motion: boolean): Promise<void> {
    if (files.length === 0) return;
    await (host.open ? host.open(files, motion) : openFile(files[0], motion));
}

function listenToDrops(): void {
    const veil = byId("drop");
    const file = byId<HTMLInputElement>("file");
    addEventListener("dragover", (event) => {
        event.preventDefault();
        veil.hidden = false;
    });
    addEventListener("dragleave", (event) => (veil.hidden = event.relatedTarget === null));
    addEventListener("drop", (event) => {
        event.preventDefault();
        veil.hidden = true;
        void openFiles([...(event.dataTransfer?.files ?? [])], event.shiftKey);
    });
    let motion = false;
    byId("open").addEventListener("click", (event) => {
        motion = event.shiftKey;
        file.click();
    });
    file.addEventListener("change", () => {
        void openFiles([...(file.files ?? [])], motion);
        file.value = ""; // the same file may be opened again
    });
}

// ---- Tracked hands ----

/** Shows the button where a headset tracks hands and the model has one. */
async function offerHand(): Promise<void> {
    const kind = await handSession();
    byId("hand").hidden = !kind || !viewer.hand;
}

async function followHand(): Promise<void> {
    try {
        const kind = await handSession();
        await viewer.followHand(await navigator.xr!.requestSession(kind!, { requiredFeatures: ["hand-tracking"] }));
        announce("following the hand");
    } catch (error) {
        byId("headline").textContent = `The headset tracks no hand: ${error instanceof Error ? error.message : error}`;
    }
}

// ---- Links and pictures ----

async function copyLink(): Promise<void> {
    history.replaceState(null, "", writeLink(store.state, stage));
    await navigator.clipboard?.writeText(location.href).catch(() => undefined);
    announce("link copied");
}

async function savePicture(): Promise<void> {
    const blob = await stage.picture();
    if (!blob) return;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${viewer.subject.data.title.replace(/\.[^.]*$/, "")}-${store.state.mode}-${store.state.frame}.png`;
    link.click();
    URL.revokeObjectURL(link.href);
    announce("picture saved");
}

function applyLink(): void {
    const patch = readLink(location.hash, stage);
    if (patch.animation !== undefined && patch.animation < viewer.subject.animations.length)
        store.set({ animation: patch.animation });
    const last = timeline.current.times.length - 1;
    if (patch.frame !== undefined) patch.frame = Math.min(Math.floor(patch.frame), last);
    if (patch.mode && !viewer.modes().some(({ name }) => name === patch.mode)) delete patch.mode;
    if (patch.view && !viewer.views().includes(patch.view)) delete patch.view;
    if (patch.joint !== undefined && patch.joint >= viewer.subject.model.joints.length) delete patch.joint;
    delete patch.animation;
    if (patch.mode === "weights") patch.joint ??= Math.max(store.state.joint, 0);
    store.set(patch);
}

// ---- Keys ----

function toggleHelp(): void {
    const help = byId<HTMLDialogElement>("help");
    if (help.open) help.close();
    else help.showModal();
}

/** Keys that need no model. */
const ALWAYS = ["o", "t", "?"];

function shortcuts(): Shortcut[] {
    const key = (keys: string[], text: string, run: () => void): Shortcut => ({
        keys,
        text,
        run: () => (viewer.subject || ALWAYS.includes(keys[0])) && run(),
    });
    const turn = (dx: number, dy: number) => viewer.turnJoint(store.state.joint, dragRotation(stage, dx, dy));
    return [
        key([" "], "play or pause", () => timeline.toggle()),
        key(["ArrowLeft", ","], "previous frame", () => timeline.step(-1)),
        key(["ArrowRight", "."], "next frame", () => timeline.step(1)),
        key(["PageUp"], "back ten frames", () => timeline.go(store.state.frame - 10)),
        key(["PageDown"], "forward ten frames", () => timeline.go(store.state.frame + 10)),
        key(["Home"], "first frame", () => timeline.go(0)),
        key(["End"], "last frame", () => timeline.go(Infinity)),
        key(["<"], "slower", () => timeline.faster(-1)),
        key([">"], "faster", () => timeline.faster(1)),
        key(["1"], "result", () => viewer.setView("result")),
        key(["2"], "source", () => viewer.setView("source")),
        key(["3"], "side by side", () => viewer.setView("side")),
        ...MODES.map(({ name, label, key: letter }) =>
            key([letter], `colour: ${label.toLowerCase()}`, () => viewer.setMode(name)),
        ),
        key(["k"], "skeleton", () => viewer.toggle("skeleton")),
        key(["x"], "wireframe", () => viewer.toggle("wireframe")),
        key(["n"], "triangle normals", () => viewer.toggle("triangles")),
        key(["v"], "voxels", () => viewer.toggle("voxels")),
        key(["l"], "lattice", () => viewer.toggle("lattice")),
        key(["p"], "pose joints", () => viewer.toggle("pose")),
        key(["r"], "reset the pose", () => viewer.resetPose()),
        key(["["], "previous bone", () => viewer.walkJoints(-1)),
        key(["]"], "next bone", () => viewer.walkJoints(1)),
        key(["Alt+ArrowLeft"], "rotate the bone left", () => turn(-10, 0)),
        key(["Alt+ArrowRight"], "rotate the bone right", () => turn(10, 0)),
        key(["Alt+ArrowUp"], "rotate the bone up", () => turn(0, -10)),
        key(["Alt+ArrowDown"], "rotate the bone down", () => turn(0, 10)),
        key(["Shift+ArrowLeft"], "orbit left", () => stage.orbit(-1 / 36, 0)),
        key(["Shift+ArrowRight"], "orbit right", () => stage.orbit(1 / 36, 0)),
        key(["Shift+ArrowUp"], "orbit up", () => stage.orbit(0, 1 / 36)),
        key(["Shift+ArrowDown"], "orbit down", () => stage.orbit(0, -1 / 36)),
        key(["+", "="], "zoom in", () => stage.zoom(1 / 1.15)),
        key(["-"], "zoom out", () => stage.zoom(1.15)),
        key(["f"], "frame the model", () => stage.reframe()),
        key(["o"], "open a GLB file, or a motion (BVH, GLB)", () => byId("open").click()),
        key(["u"], "copy a link", () => void copyLink()),
        key(["c"], "save a picture", () => void savePicture()),
        key(["t"], "dark or light theme", switchTheme),
        key(["?"], "this list", toggleHelp),
        ...(host.shortcuts ?? []),
    ];
}

// ---- Running ----

function run(): void {
    let last = performance.now();
    const loop = (now: number): void => {
        const seconds = Math.min(now - last, 250) / 1000;
        last = now;
        if (viewer.subject) timeline.tick(seconds);
        host.frame?.(seconds);
        stage.draw();
        viewer.showCrowdFigures();
        requestAnimationFrame(loop);
    };
    requestAnimationFrame(loop);
}

async function begin(): Promise<void> {
    useTheme();
    darkByDefault.addEventListener("change", useTheme);
    byId("theme").addEventListener("click", switchTheme);
    byId("link").addEventListener("click", () => void copyLink());
    byId("picture").addEventListener("click", () => void savePicture());
    byId("hand").addEventListener("click", () => void followHand());
    byId("help-button").addEventListener("click", toggleHelp);
    listenToDrops();
    listen(shortcuts());
    if (host.begin) {
        run();
        return host.begin();
    }
    const data = readPage();
    if (!data) {
        byId("headline").textContent = "This page contains no model. Drop a GLB file on it.";
        return;
    }
    await viewer.open(data);
    void offerHand();
    keepAddress(store, stage);
    addEventListener("hashchange", applyLink);
    play();
    applyLink();
    run();
}

/** Plays what is shown, unless the user wants less motion. */
export function play(): void {
    store.set({
        playing: timeline.current.times.length > 1 && !matchMedia("(prefers-reduced-motion: reduce)").matches,
    });
}

/** Interface for tests and scripts. */
function makeHook() {
    return {
        viewer,
        handJoint,
        /** Resolves when the model is shown. */
        ready: begin(),
        /** Vertices of the result and of the source in a frame of the current animation, [vertex][3]. */
        positions(frame: number): Float32Array {
            const out = new Float32Array(3 * viewer.subject.model.vertexCount);
            viewer.subject.result(viewer.animation, frame, out);
            return out;
        },
        /** Normals of the result as engines skin them, [vertex][3]; zeros if the file has none. */
        normals(frame: number): Float32Array {
            const count = 3 * viewer.subject.model.vertexCount;
            const out = new Float32Array(count);
            viewer.subject.result(viewer.animation, frame, new Float32Array(count), false, out);
            return out;
        },
        /** Positions and normals [vertex][3] of the current pose as the GPU draws them. */
        drawn(): { positions: Float32Array; normals: Float32Array } {
            return viewer.drawn();
        },
        source(frame: number): Float32Array {
            const out = new Float32Array(3 * viewer.subject.model.vertexCount);
            if (viewer.animation.clip) viewer.subject.source(viewer.animation.clip, frame, out);
            return out;
        },
    };
}

export function startPage(given: Host = {}): void {
    host = given;
    const hook = makeHook();
    const page = window as unknown as { pelt?: object };
    page.pelt = Object.assign(hook, page.pelt);
    hook.ready.catch((error: Error) => {
        byId("headline").textContent = `The model cannot be shown: ${error.message}`;
        throw error;
    });
}
