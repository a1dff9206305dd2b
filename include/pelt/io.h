/* Pelt: reading and writing files.
 *
 * An input is a list of paths:
 *   a file                          rig.glb, mesh.obj, cloth.abc
 *   a mesh and caches of it         mesh.obj cache.pc2 other.mdd (each cache is one clip)
 *   a skeleton and motions of it    skeleton.asf walk.amc run.amc; a lone walk.amc looks for its skeleton beside it
 *   a sequence of meshes            a folder, a glob ('f_*.obj'), a printf pattern ('f_%04d.obj') or a list of files;
 *                                   folders and globs are taken in natural order (2 before 10); one clip
 * Formats are recognised by content, then by extension.
 */
#ifndef PELT_IO_H
#define PELT_IO_H

#include <pelt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a format can do and hold. */
typedef enum pelt_format_flags {
    PELT_FORMAT_READ = 1,
    PELT_FORMAT_WRITE = 2,
    PELT_FORMAT_MESH = 4,      /* holds triangles */
    PELT_FORMAT_CLIP = 8,      /* holds vertex animation */
    PELT_FORMAT_RIG = 16,      /* holds skeletons, motions, skins, morphs */
    PELT_FORMAT_CACHE = 32,    /* needs a mesh beside it */
    PELT_FORMAT_SEQUENCE = 64, /* one file per frame makes a clip */
    PELT_FORMAT_MOTION = 128,  /* holds a motion alone, which needs a skeleton beside it */
    PELT_FORMAT_OBJECTS = 256  /* holds objects that can be read apart (pelt_load_desc.object) */
} pelt_format_flags;

/* One file format. */
typedef struct pelt_format_info {
    const char *name;       /* "glTF" */
    const char *extensions; /* lower case, separated by spaces, "gltf glb" */
    const char *summary;    /* one line */
    uint32_t flags;         /* pelt_format_flags */
} pelt_format_info;

/* The formats in the order of their table; index ≥ the count gives NULL. */
PELT_API const pelt_format_info *pelt_format_at(uint32_t index);
/* The format of an existing file, by content, then by extension; NULL (and an error) when it cannot be read or its format
 * is unknown. A folder or a pattern has the format of its first file; a pipe that of its extension. */
PELT_API const pelt_format_info *pelt_format_of_file(pelt_context *context, const char *path);
/* The format that writing to this path would use, by extension; NULL when there is none. */
PELT_API const pelt_format_info *pelt_format_for_output(const char *path);

typedef struct pelt_load_desc {
    uint32_t cookie;    /* set by pelt_load_desc_default; do not change */
    double fps;         /* frame rate of inputs that store none (sequences, PC2); default 30 */
    double motion_fps;  /* frame rate of motions that store none (AMC); default 120 */
    const char *object; /* Alembic: read only objects of this name (or path, with '/') and their children; NULL: all */
    /* motions to merge into one. "auto" (default, also NULL): motions of the same name, and a motion of bones with
     * motions of morphs of the same duration (Blender exports bones and shape keys separately), unless two of them
     * move the same property; the log lists what was merged. "none": nothing. Else names, "Walk+Smile,Run+Frown";
     * this sets PELT_CHANGED_MOTIONS */
    const char *join;
    /* up axis of the files: "y", "z" or "x"; models are rotated to y up. For one of several files: "cache.mdd=z",
     * with the path, name or pattern of that file; separate entries by commas. NULL (default): no rotation, but a
     * cache whose first frame is its mesh in other axes or units is converted to those of the mesh, with a warning */
    const char *up;
    const char *scale; /* factor of all lengths, in the same form: "0.01", "cache.mdd=100" */
} pelt_load_desc;
PELT_API const pelt_option_table *pelt_load_options(void);
PELT_API pelt_load_desc pelt_load_desc_default(void);

/* True when a list for desc.up or desc.scale (may be NULL) has an entry "NAME=VALUE" whose NAME matches no path of paths
 * [path_count]: neither a path, nor the file name of one, nor a file that a pattern among them ('f_*.obj') matches. *name
 * [*name_length] is the first such NAME and points into the list. Names with commas are not supported. */
PELT_API bool pelt_load_unmatched(const char *list, const char *const *paths, size_t path_count, const char **name,
                                  size_t *name_length);

/* Reads one input (see above) into a new model. `desc` may be NULL. */
PELT_API pelt_result pelt_load(pelt_context *context, const char *const *paths, size_t path_count,
                               const pelt_load_desc *desc, pelt_model **model);
/* The same for a file in memory, named `name` in messages; its bytes must stay until the model is destroyed.
 * Files that name other files (a .gltf with external buffers) fail. */
PELT_API pelt_result pelt_load_memory(pelt_context *context, const void *data, size_t size, const char *name,
                                      const pelt_load_desc *desc, pelt_model **model);
/* Adds the clip of a cache in memory (PC2, MDD) to a model, as pelt_load does for a mesh and its caches, or the motion
 * of an AMC file to the model of its ASF file. The bytes must stay until the model is destroyed. A cache must have as
 * many points as the model, or as vertices. desc.up and desc.scale are for caches only: a motion is converted as its
 * skeleton was. */
PELT_API pelt_result pelt_load_cache_memory(pelt_context *context, const void *data, size_t size, const char *name,
                                            const pelt_load_desc *desc, pelt_model *model);

/* A number for every vertex from the file that a model was read from: the first component of a vertex attribute
 * ("_FALLOFF"), or another ("COLOR_0.g": r, g, b, a or x, y, z, w). Of FBX and USD files colours and texture coordinates
 * after the first set, by these names or their own. out [vertex]; NaN in parts of glTF files that do not have it. Fails where
 * none has, with a sentence that lists what is there. */
PELT_API pelt_result pelt_vertex_attribute(pelt_context *context, const pelt_model *model, const char *name,
                                           float *out);

/* A number for every vertex from a text file with one for each vertex of the model's mesh, or for each point, divided by
 * blanks or line ends; '#' begins a comment. out [vertex]. */
PELT_API pelt_result pelt_vertex_numbers(pelt_context *context, const pelt_model *model, const char *path, float *out);

/* A pose of a model's skeleton. */
typedef struct pelt_pose {
    const char *name;             /* never NULL */
    const pelt_transform *locals; /* [joint] */
} pelt_pose;

/* Finds a joint by name. Fails with a message that suggests the nearest name. */
PELT_API pelt_result pelt_joint_find(pelt_context *context, const pelt_model *model, const char *name, uint32_t *joint);
/* Rotates a joint from its rest pose by degrees about x, then y, then z, which are the joint's own axes at rest: sets
 * local->rotation to rest · Rz · Ry · Rx. */
PELT_API void pelt_pose_turn(const pelt_transform *rest, const double degrees[3], pelt_transform *local);

/* Reads poses [pose_count] of a model's skeleton; they live in the model until freed. Joints not listed stay at rest.
 *   .json   {"joints": {"elbow": {"euler": [90, 0, 0]}}}: one pose, named after the file
 *           {"poses": {"bent": {"joints": …}, …}}: several
 *           Of a joint: "rotation" [x, y, z, w], "translation", "scale" in place of its own, as a glTF node has them; or
 *           "euler", as pelt_pose_turn takes it.
 *   others  a file with a skeleton (BVH, glTF): the first frame of its first motion, else its rest pose. Joints are matched
 *           by name and rotate from rest, in world space, as those of the file do.
 * `desc` may be NULL. */
PELT_API pelt_result pelt_load_poses(pelt_context *context, pelt_model *model, const char *path,
                                     const pelt_load_desc *desc, pelt_pose **poses, uint32_t *pose_count);
/* The same for a file in memory, named `name` in messages. */
PELT_API pelt_result pelt_load_poses_memory(pelt_context *context, pelt_model *model, const void *data, size_t size,
                                            const char *name, const pelt_load_desc *desc, pelt_pose **poses,
                                            uint32_t *pose_count);
/* Frees poses that pelt_load_poses read, before the model is destroyed, and sets *poses to NULL. */
PELT_API void pelt_poses_free(pelt_model *model, pelt_pose **poses);

/* Encoding of PLY files. */
typedef enum pelt_ply_encoding { PELT_PLY_BINARY, PELT_PLY_BIG_ENDIAN, PELT_PLY_ASCII } pelt_ply_encoding;

/* Normals in mesh sequences of clips that a skin moves (pelt_clip_skin_normals): none, or 1 + pelt_normal_rule. */
typedef enum pelt_frame_normals {
    PELT_FRAME_NORMALS_NONE,
    PELT_FRAME_NORMALS_MATRIX,
    PELT_FRAME_NORMALS_INVERSE,
    PELT_FRAME_NORMALS_ACCURATE
} pelt_frame_normals;

/* Order of vertices (glTF): KEPT: as in the model. SKIN: vertices of a skinned part are sorted by influence count, then by
 * bones, as pelt_skin_prepare does. The image is the same. */
typedef enum pelt_vertex_order { PELT_ORDER_KEPT, PELT_ORDER_SKIN } pelt_vertex_order;

/* Programs that FBX files are made for. The log says what each sets, and why (docs/formats.md).
 * ANY: y up, centimetres, keys where they are. UNREAL: z up, centimetres, one root, whole frames from 0. UNITY: y up,
 * metres, whole frames. MAYA: y up, centimetres, whole frames of 24, 30, 48, 60 or 120 per second. */
typedef enum pelt_file_target { PELT_FILE_ANY, PELT_FILE_UNREAL, PELT_FILE_UNITY, PELT_FILE_MAYA } pelt_file_target;

/* What compression changed, measured on what was written. */
typedef struct pelt_compress_report {
    double distance; /* largest distance by which a vertex moved, at rest or at a key of a motion, object units */
    double fraction; /* the same as a fraction of the size: the diameter of the enclosing ball of the rest pose */
} pelt_compress_report;

typedef struct pelt_save_desc {
    uint32_t cookie;   /* set by pelt_save_desc_default; do not change */
    uint32_t clip;     /* clip to write to a format that holds only one; default 0 */
    double fps;        /* frame rate of formats that store no times (PC2); default 30 */
    uint32_t motion;   /* motion to write to a format that holds only one (BVH); default 0 */
    double motion_fps; /* frame rate at which motions are sampled (BVH); 0 (default): that of their keys, else 30 */
    bool replace;      /* an existing file may be replaced; default true */
    uint32_t weights;  /* pelt_weight_format (model.h); default f32 */
    uint32_t ply;      /* pelt_ply_encoding; default binary, little-endian */
    uint32_t order;    /* pelt_vertex_order; default kept */
    /* OBJ: write parts as groups of one object, and points without faces as lines, so that other programs read all points in
     * order and caches fit. Default false: parts are objects. */
    bool one_object;
    /* Write morph targets that are mostly zero as sparse accessors (glTF): smaller, but Godot 3 misreads them. Default
     * false. */
    bool sparse;
    bool skip_clips; /* write no clip (Alembic), and do not warn where the format holds none (glTF); default false */
    /* How many bones per vertex the programs blend that will play the file (glTF): a warning counts vertices with more.
     * Default 4 (0 means the same); 8: no warning. */
    uint32_t player_influences;
    /* pelt_frame_normals: normals of frames that a skin moves (OBJ, PLY sequences, Alembic, .exr). Default none: sequences
     * have no normals; those of Alembic and .exr files turn with the faces. */
    uint32_t normals;
    /* Compress (glTF): EXT_meshopt_compression and KHR_mesh_quantization. Vertices, weights and keys are rounded,
     * triangles and vertices sorted. Blender 3.4 does not read such files. Needs a build with meshoptimizer; `weights`,
     * `sparse` and `order` have no effect. Default false. */
    bool compress;
    /* compress: distance by which a vertex may move, at rest and at keys, as a fraction of the size, 1e-7 to 0.1; default
     * 1e-4. Where rounding exceeds it, numbers are stored more finely. */
    double compress_error;
    /* Write plain arrays (glTF), which every program reads: data of the source with EXT_meshopt_compression or
     * KHR_mesh_quantization is decoded. Default false: unchanged data stays as it is. `compress` has precedence. */
    bool plain;
    uint32_t target; /* pelt_file_target: program that the file is made for (FBX); default any */
    bool keep_order; /* compress: do not sort triangles and vertices; larger files; default false */
    /* compress: receives what changed; with several models the last. NULL (default) */
    pelt_compress_report *compressed;
} pelt_save_desc;
PELT_API const pelt_option_table *pelt_save_options(void);
PELT_API pelt_save_desc pelt_save_desc_default(void);

/* Writes a model; the extension of `path` chooses the format. OBJ, PLY: with clips and a printf pattern in the path
 * ('f_%04d.obj') one file per frame. A vertex animation texture (a.exr) has a_normals.exr, a.json and a.glb beside it.
 * Files are written beside their final place and renamed when complete: a failure leaves what was there before. `desc`
 * may be NULL. */
PELT_API pelt_result pelt_save(pelt_context *context, const pelt_model *model, const char *path,
                               const pelt_save_desc *desc);

/* Writes several models, each to its own path [count], as pelt_save does. All files appear, or none where one fails. */
PELT_API pelt_result pelt_save_all(pelt_context *context, const pelt_model *const *models, const char *const *paths,
                                   uint32_t count, const pelt_save_desc *desc);

/* Writes levels of detail [level_count], the finest first, into one glTF file (MSFT_lod): models made from one by
 * pelt_simplify_levels, or that one and these. Coarser levels are in no scene, but programs that ignore both scenes and
 * the extension (Blender, Godot 3, gltfpack) draw all levels at once: for these, write a file per level with
 * pelt_save_all. `desc` may be NULL. */
PELT_API pelt_result pelt_save_levels(pelt_context *context, const pelt_model *const *levels, uint32_t level_count,
                                      const char *path, const pelt_save_desc *desc);

/* Writes bytes to a file as pelt_save does: the file appears when it is complete. A pipe or device (/dev/stdout) is
 * written directly. */
PELT_API pelt_result pelt_file_write(pelt_context *context, const char *path, const void *data, size_t size);

/* ---- Settings --------------------------------------------------------------------------------------------- */

/* One setting of a file: the name of an option, and its value as pelt_options_set takes it; value NULL: a flag that is set. Lists are texts
 * with commas. Name NULL: `value` is the verb that the settings are for. Texts are valid during the call. A result other than PELT_OK ends
 * the reading with it. */
typedef pelt_result pelt_setting_fn(void *user, const char *name, const char *value);
/* Reads a settings file: a JSON object of options by their names, or one with such an object as its member "settings", as the reports of
 * the program have. Calls `each` for the verb, if the file names one, then for every member that is not null, in order. */
PELT_API pelt_result pelt_settings_load(pelt_context *context, const char *path, pelt_setting_fn *each, void *user);

/* ---- Lists of commands (experimental) ------------------------------------------------------------------------ */

/* One command of a list. */
typedef struct pelt_job {
    const char *name;             /* unique in the list: letters, digits, '.', '_' and '-' */
    const char *const *arguments; /* [argument_count] the verb, its files and options */
    uint32_t argument_count;      /* at least 1 */
    double time_limit;            /* seconds; 0: none */
} pelt_job;

/* A list of commands; see docs/cluster.md for the file. */
typedef struct pelt_job_list {
    const pelt_job *jobs; /* [job_count] */
    uint32_t job_count;   /* at least 1 */
    void *memory;         /* private */
} pelt_job_list;

/* Reads a list. On failure it is empty. Free it by pelt_jobs_free. */
PELT_API PELT_EXPERIMENTAL pelt_result pelt_jobs_load(pelt_context *context, const char *path, pelt_job_list *list);
/* Frees a list; an empty one is allowed. */
PELT_API PELT_EXPERIMENTAL void pelt_jobs_free(pelt_job_list *list);
/* A number that changes when the content of an input does: a file, a folder or a pattern of a sequence. Not for secrets. */
PELT_API PELT_EXPERIMENTAL pelt_result pelt_input_digest(pelt_context *context, const char *path, uint64_t digest[2]);

#ifdef __cplusplus
}
#endif

#endif
