/** Finds the vertex or joint under the pointer. */
import { type PerspectiveCamera, Vector3 } from "three";

/** Where a ray hits a surface first. */
export interface SurfaceHit {
    /** Index of its first corner in the list of triangles. */
    triangle: number;
    point: Vector3;
}

/** The first triangle that a ray hits; undefined: none. */
export function hitOnRay(
    origin: Vector3,
    direction: Vector3,
    positions: Float32Array,
    triangles: Uint32Array,
): SurfaceHit | undefined {
    const { x: ox, y: oy, z: oz } = origin;
    const { x: dx, y: dy, z: dz } = direction;
    let nearest = Infinity;
    let best = -1;
    for (let t = 0; t < triangles.length; t += 3) {
        const a = 3 * triangles[t];
        const b = 3 * triangles[t + 1];
        const c = 3 * triangles[t + 2];
        const ax = positions[a];
        const ay = positions[a + 1];
        const az = positions[a + 2];
        const ux = positions[b] - ax;
        const uy = positions[b + 1] - ay;
        const uz = positions[b + 2] - az;
        const vx = positions[c] - ax;
        const vy = positions[c + 1] - ay;
        const vz = positions[c + 2] - az;
        const px = dy * vz - dz * vy;
        const py = dz * vx - dx * vz;
        const pz = dx * vy - dy * vx;
        const determinant = ux * px + uy * py + uz * pz;
        if (determinant === 0) continue;
        const sx = ox - ax;
        const sy = oy - ay;
        const sz = oz - az;
        const u = (sx * px + sy * py + sz * pz) / determinant;
        if (!(u >= 0 && u <= 1)) continue;
        const qx = sy * uz - sz * uy;
        const qy = sz * ux - sx * uz;
        const qz = sx * uy - sy * ux;
        const v = (dx * qx + dy * qy + dz * qz) / determinant;
        if (!(v >= 0 && u + v <= 1)) continue;
        const distance = (vx * qx + vy * qy + vz * qz) / determinant;
        if (!(distance > 0 && distance < nearest)) continue;
        nearest = distance;
        best = t;
    }
    return best < 0 ? undefined : { triangle: best, point: origin.clone().addScaledVector(direction, nearest) };
}

/** The nearest corner of the first triangle that a ray hits; −1: none. */
export function vertexOnRay(
    origin: Vector3,
    direction: Vector3,
    positions: Float32Array,
    triangles: Uint32Array,
): number {
    const hit = hitOnRay(origin, direction, positions, triangles);
    return hit ? nearestCorner(hit.point, positions, triangles, hit.triangle) : -1;
}

function nearestCorner(hit: Vector3, positions: Float32Array, triangles: Uint32Array, triangle: number): number {
    const corner = new Vector3();
    const distance = (n: number) => corner.fromArray(positions, 3 * triangles[triangle + n]).distanceToSquared(hit);
    const [d0, d1, d2] = [distance(0), distance(1), distance(2)];
    return triangles[triangle + (d0 <= d1 && d0 <= d2 ? 0 : d1 <= d2 ? 1 : 2)];
}

/** The ray of a camera through a position of its picture (−1 to 1). */
export function rayThrough(camera: PerspectiveCamera, x: number, y: number): { origin: Vector3; direction: Vector3 } {
    camera.updateMatrixWorld();
    const origin = new Vector3().setFromMatrixPosition(camera.matrixWorld);
    return { origin, direction: new Vector3(x, y, 0.5).unproject(camera).sub(origin).normalize() };
}

/** The joint drawn nearest to a position of the picture, at most `reach` pixels away; −1: none. */
export function jointNear(
    camera: PerspectiveCamera,
    joints: Float32Array,
    place: { x: number; y: number; width: number; height: number },
    reach: number,
): number {
    const p = new Vector3();
    let best = -1;
    let nearest = reach;
    for (let j = 0; j < joints.length / 3; j++) {
        p.fromArray(joints, 3 * j).project(camera);
        const distance = Math.hypot(((p.x - place.x) * place.width) / 2, ((p.y - place.y) * place.height) / 2);
        if (p.z < 1 && distance < nearest) {
            nearest = distance;
            best = j;
        }
    }
    return best;
}
