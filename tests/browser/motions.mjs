// motions.mjs PELT PELT-SCENES TOOL_POSE: a hand with pose drivers follows motions of other files and a hand tracked by a
// headset, which is simulated: there is none here.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { makeGlb, readGltf, run } from "../node/support.mjs";
import * as support from "./support.mjs";

const place = (name) => path.join(support.folder, name);
const browser = await support.launch();
const [plain, rig, bvh] = ["plain.glb", "hand.glb", "hand.bvh"].map(place);
run(support.sceneMaker, ["hand", "-o", plain, "--vertices", "1000", "--poses", place("poses")]);
run(support.pelt, ["correct", "-q", plain, "--driver", "pose", "--poses", place("poses"), "--normals", "-o", rig]);
run(support.pelt, ["convert", "-q", plain, "-o", bvh]);
const handPage = support.makePage("hand.html", rig);

/** The nodes and motions of a file, without its mesh. */
function withoutSurface(file) {
    const { document, buffer } = readGltf(file);
    delete document.meshes;
    delete document.skins;
    for (const node of document.nodes) {
        delete node.mesh;
        delete node.skin;
    }
    const out = place("motion.glb");
    writeFileSync(out, makeGlb(document, Buffer.from(buffer(0))));
    return out;
}

const choose = (page, file, modifiers = []) =>
    Promise.all([
        page.waitForEvent("filechooser").then((chooser) => chooser.setFiles(file)),
        page.click("#open", { modifiers }),
    ]);

const drawn = (page) => support.floats(page, "() => window.pelt.drawn().positions");
const show = (page, patch) => page.evaluate((patch) => window.pelt.viewer.store.set(patch), { playing: false, ...patch });
const weights = (page) =>
    page.evaluate(() => Array.from(window.pelt.viewer.subject.model.parts[0].object.morphTargetInfluences));

/** Opens a motion and compares frames with the motion of the rig's own file, which has the weights of its morphs. */
async function plays(file, modifiers, tolerance) {
    const page = await support.open(browser, handPage);
    const before = await page.evaluate(() => window.pelt.viewer.subject.animations.length);
    await choose(page, file, modifiers);
    await page.waitForFunction((count) => window.pelt.viewer.subject.animations.length > count, before);
    const { animation, playing } = await support.state(page);
    assert.deepEqual([animation, playing], [before - 1, true]);
    assert.equal(await page.textContent("#title"), "hand.glb", "the model was replaced");
    let most = 0;
    for (const frame of [0, 20, 45]) {
        await show(page, { animation: 0, frame });
        const own = await drawn(page);
        await show(page, { animation: before - 1, frame });
        assert(support.difference(own, await drawn(page)) < tolerance, `frame ${frame}`);
        most = Math.max(most, ...(await weights(page)).map(Math.abs));
    }
    assert(most > 0.1, "drivers are not evaluated");
    await show(page, { animation: before, frame: 0 }); // at rest, the weights of the file are back
    assert.equal(Math.max(...(await weights(page)).map(Math.abs)), 0);
    assert.deepEqual(page.complaints, []);
    await page.close();
}

/** A headset with one hand whose joints are at `window.tracked`, {name: [x, y, z]}; frames come when the test asks. */
function fakeHeadset() {
    class Space extends EventTarget {
        getOffsetReferenceSpace() {
            return this;
        }
    }
    const joints = [
        "wrist",
        ...["thumb", "index-finger", "middle-finger", "ring-finger", "pinky-finger"].flatMap((finger) =>
            ["metacarpal", "phalanx-proximal", "phalanx-intermediate", "phalanx-distal", "tip"]
                .filter((segment) => finger !== "thumb" || segment !== "phalanx-intermediate")
                .map((segment) => `${finger}-${segment}`),
        ),
    ];
    const hand = new Map(joints.map((name) => [name, Object.assign(new Space(), { name })]));
    const source = { hand, handedness: "right", targetRayMode: "tracked-pointer", profiles: [] };
    const callbacks = [];
    class Session extends EventTarget {
        inputSources = [source];
        renderState = {};
        enabledFeatures = ["hand-tracking"];
        environmentBlendMode = "opaque";
        updateRenderState(state) {
            Object.assign(this.renderState, state);
        }
        async requestReferenceSpace() {
            return new Space();
        }
        requestAnimationFrame(callback) {
            return callbacks.push(callback);
        }
        cancelAnimationFrame() {
            callbacks.length = 0;
        }
        async end() {
            this.dispatchEvent(new Event("end"));
        }
    }
    window.XRWebGLLayer = class {
        framebuffer = null;
        framebufferWidth = 300;
        framebufferHeight = 200;
        getViewport() {
            return { x: 0, y: 0, width: 300, height: 200 };
        }
    };
    window.XRWebGLBinding = undefined;
    window.XRHand ??= class {};
    WebGL2RenderingContext.prototype.makeXRCompatible = async () => {};
    window.headset = { joints, source };
    window.headset.frame = () => {
        const frame = {
            session: window.headset.session,
            getViewerPose: () => null,
            getPose: () => null,
            getJointPose: (joint) => {
                const at = window.tracked[joint.name];
                return at && { transform: { position: { x: at[0], y: at[1], z: at[2] } }, radius: 0.01 };
            },
        };
        for (const callback of callbacks.splice(0)) callback(performance.now(), frame);
    };
    Object.defineProperty(navigator, "xr", {
        configurable: true,
        value: {
            isSessionSupported: async (kind) => kind === "immersive-vr",
            requestSession: async (kind, options) => {
                window.headset.asked = [kind, ...options.requiredFeatures];
                return (window.headset.session = new Session());
            },
        },
    });
}

/** Rotates joints and returns where they are, with tips. */
async function poseByHand(page, joints) {
    await support.turnJoints(page, joints);
    return page.evaluate(() => {
        const places = {};
        for (const { name, node } of window.pelt.viewer.subject.model.joints) {
            const at = node.getWorldPosition(node.position.clone());
            places[name] = at.toArray();
            if (name.endsWith("distal"))
                places[name.replace("phalanx-distal", "tip")] = node.localToWorld(at.set(0, 0.2, 0)).toArray();
        }
        return places;
    });
}

await support.checks(browser, {
    "a BVH file": () => plays(bvh, [], 1e-4),
    "a GLB file without a surface": () => plays(withoutSurface(plain), [], 1e-6),
    "with Shift, a GLB file with a surface": () => plays(plain, ["Shift"], 1e-6),
    "a motion of other joints is refused with their names": async () => {
        const page = await support.open(browser, handPage);
        const other = place("other.bvh");
        run(support.pelt, ["convert", "-q", support.scene("creature"), "-o", other]);
        await choose(page, other);
        await page.waitForFunction(() => /other\.bvh cannot/.test(document.getElementById("headline").textContent));
        assert.match(await page.textContent("#headline"), /none of its joints, .*, has the name .*: forearm, wrist/);
        writeFileSync(place("no.bvh"), "HIERARCHY\nnothing else");
        await choose(page, place("no.bvh"));
        await page.waitForFunction(() => /no\.bvh cannot/.test(document.getElementById("headline").textContent));
        assert.deepEqual(page.complaints, []);
        await page.close();
    },
    "names of other rigs are known": async () => {
        const page = await support.open(browser, handPage);
        const read = (name) => page.evaluate((name) => window.pelt.handJoint(name), name);
        for (const [name, joint] of Object.entries({
            "mixamorig:RightHand": "wrist",
            "mixamorig:RightHandThumb1": "thumb-metacarpal",
            "mixamorig:RightHandIndex1": "index-finger-phalanx-proximal",
            "f_pinky.03.R": "pinky-finger-phalanx-distal",
            RightLittleIntermediate: "pinky-finger-phalanx-intermediate",
            "middle-finger-tip": "middle-finger-tip",
            "index-finger-metacarpal": "index-finger-metacarpal",
            LeftArm: undefined,
        }))
            assert.equal(await read(name), joint, name);
        await page.close();
    },
    "without a headset there is no button": async () => {
        const page = await support.open(browser, handPage);
        await support.settle(page);
        assert.equal(await page.locator("#hand").isVisible(), false);
        await page.close();
    },
    "a tracked hand poses the rig": async () => {
        const context = await browser.newContext({ viewport: { width: 1000, height: 700 } });
        await context.addInitScript(fakeHeadset);
        const page = await support.open(context, handPage);
        await page.waitForSelector("#hand:not([hidden])");
        await page.evaluate(() => window.pelt.viewer.stage.reframe());
        const rest = await (await show(page, { animation: 1, frame: 0 }), drawn(page));
        // About one axis across the bone each: positions of joints do not tell how bones twist.
        const places = await poseByHand(page, {
            "thumb-metacarpal": [25, 0, 0],
            "thumb-phalanx-distal": [30, 0, 0],
            "index-finger-phalanx-proximal": [60, 0, 0],
            "pinky-finger-phalanx-proximal": [0, 0, 12],
            "index-finger-phalanx-intermediate": [40, 0, 0],
            "ring-finger-phalanx-distal": [45, 0, 0],
        });
        const wanted = await drawn(page);
        await page.keyboard.press("r");
        await page.click("#hand");
        await page.waitForFunction(() => window.headset.session);
        assert.deepEqual(await page.evaluate(() => window.headset.asked), ["immersive-vr", "hand-tracking"]);
        // A smaller hand elsewhere, turned; then its mirror image, which is a left one.
        const turned = ([x, y, z]) => [0.1 * z + 1, 0.1 * x - 0.3, 0.1 * y - 2];
        for (const [handedness, mirror] of [
            ["right", 1],
            ["left", -1],
        ]) {
            const tracked = Object.entries(places).map(([name, [x, y, z]]) => [name, turned([mirror * x, y, z])]);
            await page.evaluate(
                ([tracked, handedness]) => {
                    window.pelt.viewer.subject.poser.reset();
                    window.tracked = tracked;
                    window.headset.source.handedness = handedness;
                },
                [Object.fromEntries(tracked), handedness],
            );
            await page.waitForFunction(() => (window.headset.frame(), window.pelt.viewer.subject.poser.turned));
            const apart = support.difference(wanted, await drawn(page));
            assert(apart < 1e-4, `${handedness}: ${apart} of the size`);
        }
        assert(support.difference(rest, wanted) > 0.05, "the pose is the rest pose");
        assert((await weights(page)).some((weight) => Math.abs(weight) > 0.1), "drivers are not evaluated");
        // Where the hand is not seen, the pose stays; when the session ends, the page goes on.
        await page.evaluate(() => ((window.tracked = {}), window.headset.frame(), window.headset.session.end()));
        assert(support.difference(wanted, await drawn(page)) < 1e-4);
        await page.keyboard.press("r");
        await support.settle(page);
        assert.equal(support.difference(rest, await drawn(page)), 0);
        assert.equal(await page.evaluate(() => window.pelt.viewer.stage.camera.near < 0.05), true, "another camera");
        assert.deepEqual(page.complaints, []);
        await context.close();
    },
});
