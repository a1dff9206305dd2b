/** States with undo and redo. A state is never changed: every change makes another one. */

interface Entry<State> {
    label: string;
    merge: string | undefined;
    state: State;
}

const MOST = 200;

export class History<State> {
    private entries: Entry<State>[];
    private place = 0;

    constructor(state: State) {
        this.entries = [{ label: "", merge: undefined, state }];
    }

    get state(): State {
        return this.entries[this.place].state;
    }

    /** All states that undo and redo reach. */
    get states(): State[] {
        return this.entries.map(({ state }) => state);
    }

    /** Changes with the same `merge` in succession are one. */
    push(label: string, state: State, merge?: string): void {
        const here = this.entries[this.place];
        this.entries.length = this.place + 1;
        if (merge && here.merge === merge) here.state = state;
        else this.entries.push({ label, merge, state });
        if (this.entries.length > MOST) this.entries.shift();
        this.place = this.entries.length - 1;
    }

    /** Forgets the oldest state. False: there is none before the current one. */
    forgetOldest(): boolean {
        if (this.place === 0) return false;
        this.entries.shift();
        this.place--;
        return true;
    }

    /** Forgets everything before. */
    begin(state: State): void {
        this.entries = [{ label: "", merge: undefined, state }];
        this.place = 0;
    }

    /** What undo (−1) or redo (1) would change; undefined: nothing. */
    label(by: -1 | 1): string | undefined {
        return this.entries[this.place + by] && this.entries[by < 0 ? this.place : this.place + 1].label;
    }

    /** False: there is nothing to undo or redo. */
    go(by: -1 | 1): boolean {
        if (!this.entries[this.place + by]) return false;
        this.place += by;
        this.entries[this.place].merge = undefined;
        return true;
    }
}
