/** What a panel of the studio is: the settings and the work of one verb. panels/index.ts lists them. */
import type { Model, ModelInfo, Option, OptionValue, TableName } from "pelt";
import type { JsonObject } from "../data";
import type { Studio } from "./studio";

/** Values by the keys of option tables; only those that differ from their default. */
export type Settings = Readonly<Record<string, OptionValue>>;

/** A model and how it was made. */
export interface Step {
    /** "open", or the name of the panel. */
    verb: string;
    title: string;
    /** Never changed after the step was made: work is done on copies. A live panel replaces it (Studio.updateStep). */
    model: Model;
    info: ModelInfo;
    settings: Settings;
    /** Names of files for command lines: those that were opened, or the one that the command would write. */
    files: readonly string[];
    /** Arguments of the command line that are no settings; of an opened model, the command lines that made it. */
    extra: readonly string[];
    report: JsonObject;
}

/** Spread into the options of an engine call. */
export interface WorkHooks {
    progress: (phase: string, fraction: number) => void;
    signal: AbortSignal;
}

export interface Job {
    studio: Studio;
    /** A copy of the model of `base`, to change. */
    model: Model;
    base: Step;
    settings: Settings;
    hooks: WorkHooks;
}

/** What a job has to tell of its result. */
export interface Made {
    title: string;
    /** Figures and curves, in the form of docs/page.md. */
    report: JsonObject;
}

export interface Panel {
    /** The verb. */
    readonly name: string;
    readonly label: string;
    /** One sentence above the controls. */
    readonly summary: string;
    /** Option tables whose rows are the controls. */
    readonly tables: readonly TableName[];
    /** Further rows: options of the verb that are in no table. Their values are settings too. */
    readonly own?: readonly Option[];
    /** Keys that are shown at once, in this order; the others are under "More settings". */
    readonly main: readonly string[];
    /** Keys without meaning here. */
    readonly hidden?: readonly string[];
    /** Keys shown as a slider, and its range. */
    readonly sliders?: Readonly<Record<string, readonly [low: number, high: number, step: number]>>;
    /** Text of the button that runs it. */
    readonly action: string;
    /** Why a model cannot be worked on, a sentence; undefined: it can. */
    unfit(info: ModelInfo, studio: Studio): string | undefined;
    /** Changes the model of the job. */
    run(job: Job): Promise<Made>;
    /** Own controls above and below those of the tables, made once. */
    before?(studio: Studio): HTMLElement;
    after?(studio: Studio): HTMLElement;
    /** It was opened, or another step is shown while it is open. */
    enter?(studio: Studio): void;
    /** It was closed, or another step will be shown: release live objects. */
    leave?(studio: Studio): void;
    /** Brings a step of this panel up to date with what is shown, before it is used: exported, worked on, shown again. */
    settle?(studio: Studio, step: Step): Promise<void>;
    /** A setting or mark of it changed: by controls, undo, a settings file. */
    changed?(studio: Studio): void;
    /** Only some settings may apply, as with a driver. */
    applies?(key: string, settings: Settings): boolean;
    /** The file that the command line writes, of a name that ends in .glb. */
    file?(name: string, settings: Settings): string;
    /** Inputs of the command line; default: the files of the step that it works on. */
    inputs?(studio: Studio, base: Step): string[];
    /** Arguments of the command line that are no rows of the tables. */
    command?(studio: Studio, settings: Settings): string[];
    /** Further members of the settings file, and their reader. */
    saved?(studio: Studio): JsonObject;
    opened?(studio: Studio, object: JsonObject): void;
}
