// A binding: voxels and fields, from which weights follow for other settings.
import type { Model } from "./engine";
import { Handle, indexOf, Resource, sized, type Hooks } from "./handle";
import type { Scope } from "./memory";
import { settingsText } from "./tables";
import type * as types from "./types";

export function bindSettings(model: Model, scope: Scope, options: types.BindOptions) {
    const { skeleton, vertexFalloff, attributes = {}, keepFields, ...settings } = options;
    const { memory } = model.engine;
    const { vertexCount } = model.counts();
    const names = Object.keys(attributes);
    const rows = scope.alloc(8 * names.length);
    names.forEach((name, n) => {
        memory.setU32(rows + 8 * n, scope.text(name));
        memory.setU32(rows + 8 * n + 4, scope.array(sized(attributes[name], vertexCount, `attributes.${name}`)));
    });
    const extra = scope.alloc(20);
    memory.setU32(extra, skeleton?.place ?? 0);
    memory.setU32(extra + 4, scope.array(sized(vertexFalloff, vertexCount, "vertexFalloff")));
    memory.setU32(extra + 8, names.length ? rows : 0);
    memory.setU32(extra + 12, names.length);
    memory.module.HEAPU8[extra + 16] = keepFields ? 1 : 0;
    const parents = skeleton ? [skeleton.held] : [];
    return { text: scope.text(settingsText(settings)), extra, parents };
}

export class Binding extends Handle {
    private readonly model: Model;

    /** @internal */
    constructor(
        model: Model,
        place: number,
        private readonly settings: types.BindOptions,
        parents: Resource[],
    ) {
        const { engine } = model;
        super(engine, new Resource(place, (p) => engine.call._pw_binding_free(p), [model.held, ...parents]));
        this.model = model.lent();
    }

    /** Writes weights to the model. Options take the place of those given to binding(); `pose` (local transforms) evaluates falloffs
     * that follow a joint. */
    apply(options: types.BindOptions & { pose?: Float32Array } & Hooks = {}): void {
        const { pose, progress, cancelled, ...settings } = options;
        this.engine.run({ progress, cancelled }, (scope) => {
            const { text, extra } = bindSettings(this.model, scope, { ...this.settings, ...settings });
            const locals = scope.array(sized(pose, 10 * this.model.counts().jointCount, "pose"));
            this.engine.check(this.engine.call._pw_binding_apply(this.place, text, extra, locals));
        });
    }

    /** A binding of another model in the voxels of this one, without solving again; needs keepFields. The same mesh gets the same weights
     * as the first, to the bit. */
    reuse({ model, progress, cancelled }: { model: Model } & Hooks): Binding {
        return this.engine.run({ progress, cancelled }, () => {
            const place = this.engine.made(this.engine.call._pw_binding_reuse(this.place, model.place));
            return new Binding(model, place, { ...this.settings, vertexFalloff: undefined, attributes: undefined, lock: undefined }, [this.held]);
        });
    }

    report(): types.BindReport {
        return this.engine.run({}, (scope) => {
            const out = scope.struct("bind");
            this.engine.call._pw_binding_report(this.place, out);
            return this.engine.memory.read("bind", out);
        });
    }

    /** The voxels, for display. */
    voxels(): types.Voxels {
        return this.engine.run({}, (scope) => {
            const out = scope.struct("voxels");
            this.engine.call._pw_binding_voxels(this.place, out);
            return this.engine.memory.read("voxels", out);
        });
    }

    /** Distances [vertex] of the vertices from the bones of a joint through the voxels, object units; Infinity: not reached, NaN: the vertex
     * keeps its weights. */
    distances(joint: number): Float32Array {
        return this.engine.run({}, (scope) => {
            const count = this.model.counts().vertexCount;
            const out = scope.room(4 * count);
            this.engine.check(this.engine.call._pw_binding_distances(this.place, joint, out));
            return this.engine.memory.copy("F", out, count) as Float32Array;
        });
    }

    /** A picture of a section through the voxels. Fields and weights need keepFields. */
    section({ show = "voxels", axis = "z", position, joint }: types.SectionOptions = {}): types.Section {
        return this.engine.run({}, (scope) => {
            const { engine } = this;
            const out = scope.struct("section");
            const [kind, across] = [["voxels", "field", "weights"].indexOf(show), "xyz".indexOf(axis)];
            engine.check(
                engine.call._pw_binding_section(this.place, kind, across, position ?? NaN, indexOf(joint), out),
            );
            const section = engine.memory.read("section", out);
            const count = 4 * section.width * section.height;
            section.pixels = engine.memory.copy("C", engine.call._pw_section_pixels(out), count);
            engine.call._pw_section_free(out);
            return section;
        });
    }
}
