/** Pose drivers: evaluates `extras.pelt_drivers` of a glTF file (docs/drivers.md), for any viewer; with
 * three, `gltf.userData` has the extras. The same as src/core/driver.c, step by step. Quaternions are x y z w. */

type Numbers = ArrayLike<number>;

export interface Driver {
    /** Node whose rotation drives, and its name when the file was written. */
    joint: number;
    name?: string;
    /** Version 2: its rotation is against the first of these nodes; the others lie above that one, up to where both joints
     * hang. `above` are those above the joint. */
    against?: number[];
    above?: number[];
    part: "whole" | "swing" | "twist";
    axis?: number[];
    kernel: "exponential" | "gaussian" | "thin-plate";
    radius: number;
    centres: number[][];
    targets: { node: number; target: number; coefficients: number[] }[];
}

// ---- Reading ----

function isNumbers(value: unknown, count: number): value is number[] {
    return Array.isArray(value) && value.length === count && value.every(Number.isFinite);
}

function isNodes(value: unknown): boolean {
    return value === undefined || (Array.isArray(value) && value.length > 0 && value.every(Number.isInteger));
}

function isDriver(value: unknown): value is Driver {
    const { joint, against, above, part, axis, kernel, radius, centres, targets } = (value ?? {}) as Partial<Driver>;
    return (
        Number.isInteger(joint) &&
        isNodes(against) &&
        isNodes(above) &&
        ["whole", "swing", "twist"].includes(part!) &&
        (part === "whole" || isNumbers(axis, 3)) &&
        ["exponential", "gaussian", "thin-plate"].includes(kernel!) &&
        Number.isFinite(radius) &&
        radius! > 0 &&
        Array.isArray(centres) &&
        centres.every((centre) => isNumbers(centre, 4)) &&
        Array.isArray(targets) &&
        targets.every(
            (target) =>
                Number.isInteger(target?.node) &&
                Number.isInteger(target.target) &&
                isNumbers(target.coefficients, centres.length + 1),
        )
    );
}

/** The drivers in the extras of a document; empty if there are none or they are invalid. */
export function readDrivers(extras: unknown): Driver[] {
    const { version, drivers } = ((extras as { pelt_drivers?: unknown })?.pelt_drivers ?? {}) as {
        version?: unknown;
        drivers?: unknown;
    };
    return (version === 1 || version === 2) && Array.isArray(drivers) && drivers.every(isDriver) ? drivers : [];
}

// ---- Evaluating ----

/** a · b, which applies b first. */
function multiply(a: Numbers, b: Numbers): number[] {
    return [
        a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
        a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
        a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3],
        a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
    ];
}

function inverse(a: Numbers): number[] {
    return [-a[0], -a[1], -a[2], a[3]];
}

type Rotation = (node: number) => Numbers;

/** The rotation of a node against one above it, from all up to below that one, lowest first. */
function chain(nodes: number[], rotation: Rotation): number[] {
    return nodes.reduce((product, node) => multiply(rotation(node), product), [0, 0, 0, 1]);
}

/** A joint's rotation, against its parent or another joint. */
function localOf({ joint, against, above = [] }: Driver, rotation: Rotation): Numbers {
    if (!against) return rotation(joint);
    return multiply(inverse(chain(against, rotation)), chain([joint, ...above], rotation));
}

/** All nodes that a driver uses. */
export function nodesOf({ joint, against = [], above = [] }: Driver): number[] {
    return [joint, ...against, ...above];
}

/** The part of a rotation that a driver uses. */
function partOf({ part, axis }: Driver, whole: number[]): number[] {
    if (part === "whole" || !axis) return whole;
    const along = whole[0] * axis[0] + whole[1] * axis[1] + whole[2] * axis[2];
    const length = Math.sqrt(along * along + whole[3] * whole[3]);
    // Half a turn of swing leaves the twist open: none, then.
    const twist = length > 1e-12 ? [...axis.map((a) => (along * a) / length), whole[3] / length] : [0, 0, 0, 1];
    return part === "twist" ? twist : multiply(whole, inverse(twist));
}

function angleBetween(a: Numbers, b: Numbers): number {
    const [x, y, z, w] = multiply(inverse(a), b);
    return 2 * Math.atan2(Math.sqrt(x * x + y * y + z * z), Math.abs(w));
}

const KERNELS: Record<Driver["kernel"], (x: number) => number> = {
    exponential: (x) => Math.exp(-x),
    gaussian: (x) => Math.exp(-x * x),
    "thin-plate": (x) => (x > 0 ? x * x * Math.log(x) : 0),
};

/** The numbers of a file are floats; where large coefficients cancel, the digits behind those would show. */
function floats(values: Numbers): number[] {
    return Array.from(values, Math.fround);
}

function asFloats(driver: Driver): Driver {
    return {
        ...driver,
        axis: driver.axis && floats(driver.axis),
        radius: Math.fround(driver.radius),
        centres: driver.centres.map(floats),
        targets: driver.targets.map((target) => ({ ...target, coefficients: floats(target.coefficients) })),
    };
}

/** The drivers of one file, prepared for repeated evaluation. */
export class Drivers {
    /** The driven morph targets, without duplicates. */
    readonly targets: { node: number; target: number }[] = [];
    private readonly list: Driver[];
    private readonly rests: Numbers[];
    /** [driver][target] indices into `targets`. */
    private readonly places: number[][];

    /** `rest` gives the rotation of a node in the file. */
    constructor(list: Driver[], rest: Rotation) {
        this.list = list.map(asFloats);
        this.rests = list.map((driver) => localOf(driver, (node) => floats(rest(node))));
        const known = new Map<string, number>();
        this.places = list.map(({ targets }) =>
            targets.map(({ node, target }) => {
                const key = `${node}/${target}`;
                const place = known.get(key) ?? this.targets.push({ node, target }) - 1;
                known.set(key, place);
                return place;
            }),
        );
    }

    /** Weights of `targets` in a pose; `local` gives the rotation of a node. */
    weights(local: Rotation): number[] {
        const out = new Array<number>(this.targets.length).fill(0);
        this.list.forEach((driver, d) => {
            const rotation = partOf(driver, multiply(inverse(this.rests[d]), localOf(driver, local)));
            const phi = driver.centres.map((centre) =>
                KERNELS[driver.kernel](angleBetween(rotation, centre) / driver.radius),
            );
            driver.targets.forEach(({ coefficients }, t) => {
                let sum = coefficients[phi.length];
                for (let c = 0; c < phi.length; c++) sum += coefficients[c] * phi[c];
                const place = this.places[d][t];
                out[place] = Math.fround(out[place] + Math.fround(sum)); // rounded where C does
            });
        });
        return out;
    }
}
