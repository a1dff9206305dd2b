/** Overlays: skeleton, voxels, lattice, marker of the picked vertex. */
import {
    BoxGeometry,
    BufferGeometry,
    Color as ThreeColor,
    Group,
    InstancedMesh,
    Matrix4,
    MeshBasicMaterial,
    MeshLambertMaterial,
    Mesh,
    OctahedronGeometry,
    Quaternion,
    Vector3,
} from "three";
import { category } from "./colors";
import type { Lattice, Voxels } from "./data";
import { LatticeLines } from "./lattice";
import type { Model } from "./model";

const UP = new Vector3(0, 1, 0);

/** A long octahedron from 0 to 1 on the y axis, thickest near its beginning. */
function boneGeometry(): BufferGeometry {
    const geometry = new OctahedronGeometry(0.5);
    const position = geometry.attributes.position;
    for (let i = 0; i < position.count; i++) {
        const y = position.getY(i);
        position.setXYZ(i, position.getX(i) * 0.2, y > 0.1 ? 1 : y < -0.1 ? 0 : 0.15, position.getZ(i) * 0.2);
    }
    geometry.computeVertexNormals();
    return geometry;
}

/** Joints as small octahedra, bones as long ones, over everything else. */
class Skeleton {
    readonly group = new Group();
    /** [joint][3] positions of the joints. */
    readonly positions: Float32Array;
    private readonly joints: InstancedMesh;
    private readonly bones: InstancedMesh;
    private readonly children: number[];

    constructor(
        private readonly model: Model,
        private readonly size: number,
    ) {
        const { joints } = model;
        this.positions = new Float32Array(3 * joints.length);
        this.children = joints.map((_, j) => j).filter((j) => joints[j].parent >= 0);
        const material = () =>
            new MeshLambertMaterial({ depthTest: false, transparent: true, opacity: 0.9, flatShading: true });
        this.joints = new InstancedMesh(new OctahedronGeometry(1), material(), joints.length);
        this.bones = new InstancedMesh(boneGeometry(), material(), this.children.length);
        for (const [order, mesh] of [this.bones, this.joints].entries()) {
            mesh.frustumCulled = false;
            mesh.renderOrder = 10 + order;
            this.group.add(mesh);
        }
        this.color(-1, 0);
    }

    color(selected: number, marked: number): void {
        const paint = new ThreeColor();
        const of = (joint: number) => (joint === selected ? paint.set(marked) : paint.setRGB(...category(joint)));
        this.model.joints.forEach((_, j) => this.joints.setColorAt(j, of(j)));
        // A bone belongs to the joint that it begins at.
        this.children.forEach((j, n) => this.bones.setColorAt(n, of(this.model.joints[j].parent)));
        for (const mesh of [this.joints, this.bones]) if (mesh.instanceColor) mesh.instanceColor.needsUpdate = true;
    }

    /** Follows the nodes. */
    update(): void {
        const [matrix, scale, a, b] = [new Matrix4(), new Vector3(), new Vector3(), new Vector3()];
        const rotation = new Quaternion();
        this.model.joints.forEach(({ node }, j) => {
            a.setFromMatrixPosition(node.matrixWorld).toArray(this.positions, 3 * j);
            this.joints.setMatrixAt(j, matrix.compose(a, rotation.identity(), scale.setScalar(this.size)));
        });
        this.children.forEach((j, n) => {
            a.fromArray(this.positions, 3 * this.model.joints[j].parent);
            b.fromArray(this.positions, 3 * j).sub(a);
            const length = b.length();
            const thickness = Math.min(length, 12 * this.size);
            rotation.setFromUnitVectors(UP, length > 0 ? b.divideScalar(length) : UP);
            this.bones.setMatrixAt(n, matrix.compose(a, rotation, scale.set(thickness, length, thickness)));
        });
        this.joints.instanceMatrix.needsUpdate = true;
        this.bones.instanceMatrix.needsUpdate = true;
    }
}

function drawVoxels({ centers, size, axes }: Voxels): InstancedMesh {
    const count = centers.length / 3;
    const material = new MeshLambertMaterial({ color: 0x7aa7d9, transparent: true, opacity: 0.35, depthWrite: false });
    const mesh = new InstancedMesh(new BoxGeometry(0.92 * size, 0.92 * size, 0.92 * size), material, count);
    const matrix = new Matrix4();
    if (axes) matrix.makeBasis(...([0, 3, 6].map((a) => new Vector3(axes[a], axes[a + 1], axes[a + 2])) as [Vector3, Vector3, Vector3]));
    for (let v = 0; v < count; v++)
        mesh.setMatrixAt(v, matrix.setPosition(centers[3 * v], centers[3 * v + 1], centers[3 * v + 2]));
    mesh.frustumCulled = false;
    return mesh;
}

export class Overlays {
    readonly skeleton: Skeleton;
    voxels: InstancedMesh | undefined;
    readonly lattice: LatticeLines | undefined;
    readonly mark: Mesh;

    constructor(private readonly parent: Group, model: Model, size: number, voxels?: Voxels, lattice?: Lattice) {
        parent.clear();
        this.skeleton = new Skeleton(model, size * 0.006);
        this.voxels = voxels && drawVoxels(voxels);
        this.lattice = lattice && new LatticeLines(lattice);
        this.mark = new Mesh(
            new OctahedronGeometry(size * 0.006),
            new MeshBasicMaterial({ color: 0xffffff, depthTest: false }),
        );
        this.mark.renderOrder = 20;
        this.mark.visible = false;
        parent.add(this.skeleton.group, this.mark);
        for (const object of [this.voxels, this.lattice?.lines]) if (object) parent.add(object);
    }

    setVoxels(voxels: Voxels | undefined): void {
        if (this.voxels) this.parent.remove(this.voxels);
        this.voxels?.geometry.dispose();
        this.voxels = voxels && drawVoxels(voxels);
        if (this.voxels) this.parent.add(this.voxels);
    }

    /** Moves the marker to a vertex; −1 hides it. */
    markVertex(vertex: number, positions: Float32Array, color: number): void {
        this.mark.visible = vertex >= 0;
        (this.mark.material as MeshBasicMaterial).color.set(color);
        if (vertex >= 0) this.mark.position.fromArray(positions, 3 * vertex);
    }
}
