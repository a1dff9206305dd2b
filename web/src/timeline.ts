/** Playback: the current frame, by the clock and by the controls below the view. */
import { byId, figure, h } from "./dom";
import type { Store } from "./state";
import type { Animation } from "./subject";

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4];

export class Timeline {
    private animations: Animation[] = [];
    /** Seconds since the first frame. */
    private clock = 0;
    private ticking = false;
    /** E_rms of a frame, when known. */
    error: (frame: number) => number = () => NaN;

    constructor(private readonly store: Store) {
        const scrub = byId<HTMLInputElement>("scrub");
        scrub.addEventListener("input", () => store.set({ playing: false, frame: scrub.valueAsNumber }));
        byId("play").addEventListener("click", () => this.toggle());
        byId("back").addEventListener("click", () => this.step(-1));
        byId("forward").addEventListener("click", () => this.step(1));
        byId("first").addEventListener("click", () => this.go(0));
        byId("last").addEventListener("click", () => this.go(Infinity));
        const speed = byId<HTMLSelectElement>("speed");
        speed.append(...SPEEDS.map((value) => h("option", { value }, `${value}×`)));
        speed.addEventListener("change", () => store.set({ speed: Number(speed.value) }));
        const animation = byId<HTMLSelectElement>("animation");
        animation.addEventListener("change", () => this.choose(Number(animation.value)));
        store.on(["frame", "animation", "playing"], () => this.show());
        store.on(["speed"], () => (speed.value = String(store.state.speed)));
        speed.value = "1";
    }

    setAnimations(animations: Animation[]): void {
        this.animations = animations;
        this.clock = 0;
        const select = byId<HTMLSelectElement>("animation");
        select.replaceChildren(
            ...animations.map(({ name }, value) => h("option", { value }, name || `motion ${value}`)),
        );
        byId("animation-pick").hidden = animations.length < 2;
        byId("timeline").hidden = animations.every(({ times }) => times.length < 2);
        this.show();
    }

    get current(): Animation {
        return this.animations[this.store.state.animation] ?? this.animations[0];
    }

    toggle(): void {
        if (this.current.times.length > 1) this.store.set({ playing: !this.store.state.playing });
    }

    go(frame: number): void {
        this.store.set({ playing: false, frame: Math.min(Math.max(frame, 0), this.current.times.length - 1) });
    }

    step(by: number): void {
        const count = this.current.times.length;
        this.store.set({ playing: false, frame: (this.store.state.frame + by + count) % count });
    }

    choose(animation: number): void {
        if (this.animations[animation]) this.store.set({ animation, frame: 0 });
    }

    faster(by: number): void {
        const place = SPEEDS.indexOf(this.store.state.speed) + by;
        if (SPEEDS[place]) this.store.set({ speed: SPEEDS[place] });
    }

    /** Advances by `seconds` of real time. */
    tick(seconds: number): void {
        const { playing, speed } = this.store.state;
        const { times } = this.current;
        if (!playing || times.length < 2) return;
        const duration = times[times.length - 1] - times[0];
        const period = duration + duration / (times.length - 1); // the last frame is seen as long as the others
        this.clock = (this.clock + seconds * speed) % period;
        let k = 0;
        while (k + 1 < times.length && times[k + 1] - times[0] <= this.clock + 1e-6) k++;
        this.ticking = true;
        this.store.set({ frame: k });
        this.ticking = false;
    }

    /** Updates the controls from the state. */
    show(): void {
        if (this.animations.length === 0) return;
        const { frame, playing, animation } = this.store.state;
        const { times } = this.current;
        if (!this.ticking) this.clock = times[frame] - times[0];
        const scrub = byId<HTMLInputElement>("scrub");
        scrub.max = String(times.length - 1);
        scrub.value = String(frame);
        const error = this.error(frame);
        const text = `frame ${frame} of ${times.length - 1}, ${times[frame].toFixed(3)} s`;
        scrub.setAttribute("aria-valuetext", text + (Number.isFinite(error) ? `, error ${figure(error, 3)}` : ""));
        const clock = [
            h("b", {}, frame),
            ` / ${times.length - 1}`,
            h("span", { class: "seconds" }, `${times[frame].toFixed(2)} s`),
        ];
        if (Number.isFinite(error))
            clock.push(h("span", { class: "error", title: "E_rms of this frame" }, `E ${figure(error, 3)}`));
        byId("clock").replaceChildren(...clock);
        const play = byId("play");
        play.classList.toggle("playing", playing);
        play.setAttribute("aria-label", playing ? "Pause" : "Play");
        byId<HTMLSelectElement>("animation").value = String(animation);
    }
}
