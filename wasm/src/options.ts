// Made by build.mjs --write-options from the option tables of the library.

export interface LoadOptions {
    /** frame rate of inputs that store none (sequences, PC2), 0.001 to 100000; default 30. */
    fps?: number;
    /** frame rate of AMC motions, which store none, 0.001 to 100000; default 120. */
    amcFps?: number;
    /** read only this object of an Alembic file and its children, by name or path (NAME). */
    object?: string | readonly string[];
    /** up axis of the files; models are rotated to y up; for one of several files: cache.mdd=z (y|z|x). */
    up?: string | readonly string[];
    /** multiply all lengths by this; for one of several files: cache.mdd=100; separate entries by commas (X). */
    scale?: string | readonly string[];
    /** merge motions into one; auto: merge bone and morph motions that an exporter split; none: as in the file (A+B); default auto. */
    join?: string | readonly string[];
}

export interface SaveOptions {
    /** clip to write into a format that holds one; default 0. */
    clip?: number;
    /** frames per second where the format needs a rate (PC2), 0.001 to 100000; default 30. */
    fps?: number;
    /** motion to write into a format that holds one (BVH); default 0. */
    motion?: number;
    /** frames per second of motions written as frames (BVH); 0: that of their keys, else 30, 0 to 100000; default 0. */
    motionFps?: number;
    /** replace existing files; default true. */
    replace?: boolean;
    /** type of skin weights (glTF); default f32. */
    weightsFormat?: "f32" | "u16" | "u8";
    /** encoding of PLY files; default binary. */
    ply?: "binary" | "big-endian" | "ascii";
    /** order of vertices (glTF): as they are, or sorted by their bones for fast skinning; default kept. */
    order?: "kept" | "skin";
    /** write parts as groups of one object (OBJ). */
    oneObject?: boolean;
    /** write morph targets as sparse accessors (glTF): smaller; Godot 3 misreads them. */
    sparse?: boolean;
    /** leave vertex animations out without a warning (glTF). */
    skipClips?: boolean;
    /** bones per vertex that the programs blend which will play the file; a warning counts vertices with more, 0 to 8; default 4. */
    playerInfluences?: number;
    /** write normals that the skin moves into mesh sequences: by the blended matrix as most engines do, by its inverse transpose, or with the gradient of the weights; default none. */
    normals?: "none" | "matrix" | "inverse" | "accurate";
    /** compress with EXT_meshopt_compression (glTF): far smaller; Blender 3.4 does not read it. */
    compress?: boolean;
    /** distance by which a vertex may move when compressed, as a fraction of the size, 1e-7 to 0.1; default 0.0001. */
    compressError?: number;
    /** write plain arrays (glTF): what the source compressed or quantised is decoded. */
    plain?: boolean;
    /** program that the file is made for (FBX): its axes, unit, root and frame rate; default any. */
    target?: "any" | "unreal" | "unity" | "maya";
    /** compress without sorting triangles and vertices: larger. */
    keepOrder?: boolean;
}

export interface DecomposeOptions {
    /** A published method; other options take precedence. */
    preset?: "fesam2010" | "sma2005";
    /** number of bones; 0: the fewest that reach --error, or where the error curve flattens, 0 to 4000; default 0. */
    bones?: number;
    /** E_rms to reach with as few bones as possible, 0 to 1000000; default 0. */
    error?: number;
    /** bones per vertex at most, 1 to 8; default 4. */
    influences?: number;
    /** matrices of a bone: any; rotation and scale along fixed axes; rotation; rotation and one scale; default affine. */
    transforms?: "affine" | "trs" | "rigid" | "similarity";
    /** fast: a third of the iterations; best: more starts, iterations and exchanges of bones, in up to ten times the time; default default. */
    effort?: "fast" | "default" | "best";
    /** iterations at most; 0: the initial segmentation, one bone per vertex, 0 to 100000; default 100. */
    iterations?: number;
    /** stop when ten iterations lower the error by less than this fraction, 0 to 1; default 0.003. */
    tolerance?: number;
    /** E_rms that the reduction may lose; 0: negligible for this number of bones, 0 to 1000000; default 0. */
    epsilon?: number;
    /** how the animation is reduced to a subspace; default svd. */
    reduce?: "svd" | "max" | "gram-schmidt" | "power1" | "power2" | "max-plain";
    /** memory to use at most beside the model; 0: no limit; default 0. */
    memory?: number | string;
    /** remove keys while the error rises by at most this fraction; 0: keep all, 0 to 1; default 0.01. */
    keyTolerance?: number;
    /** first bones: clusters split where their error is largest, or regions grown from distant seeds; default split. */
    seedMethod?: "split" | "regions";
    /** smoothness of weights: a difference from the neighbours' costs like an E_rms of S, 0 to 1000; default 0. */
    smooth?: number;
    /** keep the rest pose. */
    fixedRest?: boolean;
    /** change the rest pose even where a rig would keep it. */
    freeRest?: boolean;
    /** affine bones may mirror thin surfaces: the least error, but engines shade those wrongly. */
    freeBones?: boolean;
    /** use what a rig gives as initial values only. */
    refine?: boolean;
    /** add this many helper bones to a rig and keep the rest of it, 0 to 1000; default 0. */
    add?: number;
    /** bones of a rig that keep motion and weights, separated by commas (NAMES). */
    lockBones?: string | readonly string[];
    /** parts or materials whose vertices keep their weights, separated by commas (PARTS). */
    lockVertices?: string | readonly string[];
    /** join rigid bones to a skeleton; default: all are children of one root. */
    hierarchy?: boolean;
    /** only the steps of the method's paper, without extensions. */
    published?: boolean;
    /** iterations from seeds, or clusters of triangles with similar rotations; default fesam. */
    method?: "fesam" | "sma";
    /** sma: difference of rotations within a bone; larger: fewer bones, 0.0001 to 1; default 0.05. */
    rotationTolerance?: number;
    /** sma: non-negative weights, any weights, or at least --min-weight; default nnls. */
    weightSolver?: "nnls" | "tsvd" | "bounded";
    /** sma: lower bound of --weight-solver bounded, -1000 to 0; default -0.1. */
    minWeight?: number;
    /** sma: vertex colours show the triangles that belong to each bone, outliers in black. */
    colorClusters?: boolean;
}

export interface BindOptions {
    /** A published method; other options take precedence. */
    preset?: "voxel2013";
    /** how weights spread: by diffusion, or by a falloff of distances; the last three are for comparison; default heat. */
    method?: "heat" | "geodesic" | "surface" | "closest" | "hierarchy";
    /** voxels along the longest side of the mesh, 8 to 8190; default 256. */
    resolution?: number;
    /** above resolution 256, solve on blocks of voxels if there are more: bounds memory, 1 to 4294967295; default 1000000. */
    maxVoxels?: number;
    /** raise the resolution until limbs with a gap between them do not touch. */
    separate?: boolean;
    /** with --separate: at most, 8 to 8190; default 1024. */
    maxResolution?: number;
    /** voxels along each side instead (X,Y,Z). */
    grid?: string | readonly string[];
    /** views that do not vote on what is inside: +x,-x,+y,-y,+z,-z (VIEWS). */
    views?: string | readonly string[];
    /** geodesic: how distances are measured; default paper. */
    distance?: "isotropic" | "paper";
    /** scale, turn and move the skeleton to fit the mesh, with its motions. */
    fit?: boolean;
    /** bind even where the skeleton does not fit the mesh. */
    noFit?: boolean;
    /** which joints of a skin may deform: those with weights in the file, or all; default weighted. */
    joints?: "weighted" | "all";
    /** joints, divided by commas, that must not deform (JOINTS). */
    exclude?: string | readonly string[];
    /** joints that may deform, and no others; with or without weights in the file (JOINTS). */
    only?: string | readonly string[];
    /** how stiff: 1 keeps bones apart, 0 blends them widely, 0 to 1; default 0.7. */
    falloff?: number;
    /** falloffs of regions, divided by commas; regions as for --rigid (REGION=A). */
    falloffs?: string | readonly string[];
    /** voxels to add (+) or remove (-), divided by commas; regions as for --rigid (±REGION). */
    paint?: string | readonly string[];
    /** geodesic: the falloff's shape; default sharp. */
    curve?: "paper" | "sharp";
    /** joints per vertex at most, 1 to 8; default 4. */
    influences?: number;
    /** weights below this are dropped, 0 to 1; default 0.01. */
    prune?: number;
    /** average weights along edges this many times, 0 to 1000; default 0. */
    smooth?: number;
    /** make weights the same on both sides of the middle; default off. */
    mirror?: "off" | "x" | "y" | "z";
    /** whether accessories and parts of machines follow one joint; default auto. */
    rigidParts?: "auto" | "off";
    /** regions, divided by commas, that follow one joint: a part, a material, box(X Y Z X Y Z), sphere(X Y Z R), vertices(A B-C), attribute(NAME) (REGION=JOINT). */
    rigid?: string | readonly string[];
    /** joints that keep the weights they have in the file (JOINTS). */
    lock?: string | readonly string[];
}

export interface CorrectOptions {
    /** morph targets to add, at most, 0 to 100; default 10. */
    rank?: number;
    /** as few as reach this E_rms; up to 100 unless a rank is given, 0 to 1000000; default 0. */
    error?: number;
    /** what is nearest: the skinned result, or displacements at rest (James and Twigg 2005); default skinned. */
    basis?: "skinned" | "rest";
    /** alternations between displacements and weights for each rank, at most, 0 to 100; default 4. */
    sweeps?: number;
    /** the targets correct normals too, with the same weights. */
    normals?: boolean;
    /** further morph targets, at most, that correct normals alone, with weights of their own, 0 to 100; default 0. */
    normalRank?: number;
    /** how players skin the corrected normals: by the blended matrix, as most engines do, or by its inverse transpose; default matrix. */
    normalRule?: "matrix" | "inverse";
}

export interface EigenskinOptions {
    /** A published method; other options take precedence. */
    preset?: "eigenskin2002";
    /** a joint's vertices are those that it displaces by more than this part of its largest displacement, 0 to 1; default 0.04. */
    support?: number;
    /** morph targets of each joint, at most, 0 to 64; default 5. */
    modes?: number;
    /** as few modes as reach this relative displacement error, 0 to 1000000000; default 0. */
    error?: number;
    /** displacements that a vertex takes from all joints, at most; 0: any number, 0 to 1000; default 10. */
    maxPerVertex?: number;
    /** correct normals too. */
    normals?: boolean;
    /** what examples say about poses between them; auto: exponential or gaussian, by leave-one-out error; default auto. */
    kernel?: "exponential" | "gaussian" | "thin-plate" | "auto";
    /** how far that reaches, radians; 0: by leave-one-out error, 0 to 1000; default 0. */
    radius?: number;
    /** swing and twist of a joint drive apart. */
    split?: boolean;
    /** noise to expect in the examples, as a part of what there is; 0: by leave-one-out error, 0 to 1; default 0. */
    regularise?: number;
    /** meet every example: no noise, no end of supports, and as many modes as that takes. */
    exact?: boolean;
    /** meet the examples as far as supports and modes allow: expect no noise, and trust every joint in full. */
    interpolate?: boolean;
    /** joints that bend together with the one above also drive as pairs, where that predicts left-out poses better. */
    coupled?: boolean;
    /** fit bone weights and corrections in turn, where that predicts left-out poses better. */
    refitWeights?: boolean;
    /** what joints of a flat skeleton turn against; without this the one they share most vertices with (JOINT). */
    against?: string | readonly string[];
    /** poses of a joint to keep, at most; with more, examples are met in least squares, 2 to 1024; default 64. */
    centres?: number;
}

export interface SimplifyOptions {
    /** triangles to keep, as a part of those there are, 0 to 1; default 0.5. */
    ratio?: number;
    /** go on while the surface moves by no more than this part of the model's size in any pose, 0 to 1; default 0. */
    error?: number;
    /** poses that stand for the motion, at most; 1: the rest pose alone, 1 to 64; default 16. */
    poses?: number;
    /** vertices that stay do not move. */
    keepPositions?: boolean;
}

export interface RetargetOptions {
    /** whether the rig's limbs at rest are first turned to where the motion's point at rest; default directions. */
    align?: "directions" | "none";
    /** the motion's rest pose: its skeleton's, or its first frame; default skeleton. */
    motionRest?: "skeleton" | "first";
    /** lift all so that feet stand as high as at rest, or keep heights; default feet. */
    ground?: "feet" | "keep";
    /** rig lengths per motion length; 0: so that the legs fit, 0 to 1000000; default 0. */
    motionScale?: number;
    /** frames per second of the result; 0: those of the motion, 0 to 100000; default 0. */
    rate?: number;
    /** the rig's other motions go. */
    replace?: boolean;
}

export interface JiggleOptions {
    /** A published method; other options take precedence. */
    preset?: "lattice2011";
    /** cells along the longest side of the mesh; 0: chosen for --particles, 0 to 1024. */
    cells?: number;
    /** approximate number of particles, 8 to 1000000; default 2000. */
    particles?: number;
    /** weights of particles: of the rig's skin, or heat from the bones, solved, or iterated as in LBSD; default skin. */
    weights?: "skin" | "lattice" | "iterated";
    /** how joints move particles: rotation about centres of tissue, or of the blended matrix as in LBSD; default centres. */
    blend?: "centres" | "polar";
    /** how bends regain volume: along its gradient, or towards the nearest boundary as in LBSD; default gradient. */
    volumeField?: "gradient" | "boundary";
    /** fraction of the volume lost in bends that is restored, 0 to 1; default 1. */
    volume?: number;
    /** half-width of the regions that shape matching keeps rigid, in cells, 0 to 8; default 2. */
    stiffness?: number;
    /** shape that regions keep: the posed skin, or the rest shape as in LBSD; default skin. */
    regions?: "skin" | "rest";
    /** amount of secondary motion: 0 none, 1 held by bones alone, 0 to 1; default 0.9. */
    delta?: number;
    /** where --delta applies: thick tissue, but not thin tissue, hands, feet and heads; or everywhere; default thickness. */
    softness?: "thickness" | "even";
    /** radius of the rigid cylinders around bones, in cells, 0 to 1000; default 1. */
    boneRadius?: number;
    /** frequency of a single particle about its goal, 0.001 to 1000; default 16. */
    frequency?: number;
    /** decay of velocity relative to the skin, per second, 0 to 1000000; default 8. */
    damping?: number;
    /** decay of velocity within regions, per second, 0 to 1000000; default 20. */
    regionDamping?: number;
    /** largest distance of tissue from the skin; 0: no bound, 0 to 1e+30. */
    maxDistance?: number;
    /** a joint that moves farther in one step resets the simulation, in diagonals of the mesh; 0: off, 0 to 1e+30; default 1. */
    teleport?: number;
    /** length of a simulation step, 0.00025 to 0.1; default 0.004166666666666667. */
    substep?: number;
}

export interface JiggleBakeOptions {
    /** frames per second; the simulation does not depend on it, 0.001 to 100000; default 30. */
    fps?: number;
    /** simulated time before the motion: the rig accelerates from rest; with --loop, cycles are played, 0 to 86400; default 1. */
    preroll?: number;
    /** the motion is a cycle: make the last frame equal the first. */
    loop?: boolean;
}

export interface JiggleSimulateOptions {
    /** start of the part of the motion to simulate: past the T-pose of a capture, 0 to 1000000000; default 0. */
    from?: number;
    /** end of that part, from the motion's start; 0: its end, 0 to 1000000000; default 0. */
    to?: number;
}
