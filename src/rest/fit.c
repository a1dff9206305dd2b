/* Least-squares fit of rest normals and tangents to the skinning rule of engines (core/direction.h).
 *
 * A vertex has two unknowns, the direction of its rest normal. The objective is the sum over frames of the squared
 * angle between the skinned normal and the normal of the frame. A step is accepted only if it lowers the sum, so no
 * vertex gets worse than its start. Tangents are fitted in the same way.
 *
 * Bones cannot follow the normals of a mesh that crumples, and least squares would spread the error over all frames,
 * also those before it crumples. If the RMS angle exceeds CRUMPLED_ANGLE, all vertices are fitted again with a robust
 * error.
 *
 * Targets are held in memory for as many vertices as fit in TARGET_BYTES; frames are read once per such range of
 * vertices. For long animations of large meshes only evenly spaced frames are used (TARGETS_MOST).
 */
#include "core/direction.h"
#include "core/group.h"
#include "core/shading.h"
#include "rest/rest.h"

#include <math.h>

#define MAX_STEPS         12u
#define CONVERGENCE_RATIO 1e-4   /* stop when a step lowers the sum by less than this fraction of it */
#define CRUMPLED_ANGLE    0.5236 /* radians (30°): RMS angle of the fit above which the robust error is used */
#define ROBUST_ANGLE      0.5236 /* radians (30°): scale of the robust error; larger angles have little influence */
#define MIN_FRAMES        32u
#define TARGETS_MOST      (UINT64_C(1) << 24) /* vertices times frames that all frames are used for */
#define TARGET_BYTES      ((size_t)64 << 20)
#define FRAME_BLOCK       4u
#define VERTEX_BLOCK      64u

/* Target directions of a range of vertices in all frames. */
typedef struct targets {
    uint32_t first, count; /* vertices */
    float *normals;        /* [vertex][frame][3] */
    float *tangents;       /* likewise, or NULL */
} targets;

typedef struct fit {
    pelt_context *context;
    const px_normal_fit *job;
    px_arena *scratch;
    px_shading shading;
    uint32_t frame_count;  /* frames used */
    uint32_t total;        /* frames of all clips */
    pelt_affine *palettes; /* [frame][bone] */
    targets targets;
    bool robust;
    px_leaves share; /* vertices of this process */
    double *sums;    /* [vertex] remaining error of its normal: sum over frames of squared angles */
} fit;

/* ---- Frames ------------------------------------------------------------------------------------------------ */

/* The clip of a used frame, and the frame's number in that clip. */
static const pelt_clip *clip_of(const fit *f, uint32_t frame, uint32_t *clip, uint32_t *number) {
    *number = (uint32_t)((uint64_t)frame * f->total / f->frame_count);
    for (*clip = 0; *number >= f->job->clips[*clip].frame_count; (*clip)++)
        *number -= f->job->clips[*clip].frame_count;
    return &f->job->clips[*clip];
}

static void count_frames(fit *f) {
    for (uint32_t c = 0; c < f->job->clip_count; c++)
        f->total += f->job->clips[c].frame_count;
    uint64_t most = TARGETS_MOST / px_max_size(f->job->source->vertex_count, 1);
    most = most < MIN_FRAMES ? MIN_FRAMES : most;
    f->frame_count = f->total < most ? f->total : (uint32_t)most;
}

static pelt_result pose(fit *f) {
    const pelt_model *rig = f->job->rig;
    size_t joints = rig->skeleton.joint_count, bones = rig->skin.bone_count;
    pelt_transform *locals = PX_NEW(f->scratch, pelt_transform, joints);
    pelt_affine *globals = PX_NEW(f->scratch, pelt_affine, joints);
    f->palettes = PX_NEW(f->scratch, pelt_affine, px_mul_size(bones, f->frame_count));
    if (!locals || !globals || !f->palettes)
        return PELT_ERROR_MEMORY;
    for (uint32_t k = 0; k < f->frame_count; k++) {
        uint32_t c, number;
        const pelt_clip *clip = clip_of(f, k, &c, &number);
        pelt_motion_sample(rig, f->job->motions[c], clip->times[number], locals, NULL);
        pelt_skeleton_globals(&rig->skeleton, locals, globals);
        pelt_skin_palette(&rig->skin, globals, f->palettes + k * bones);
    }
    return PELT_OK;
}

/* Copies the directions [vertex][3] of one frame to the targets [vertex][frame][3]. */
static void spread(const fit *f, uint32_t frame, const float *directions, float *out) {
    const targets *t = &f->targets;
    for (size_t n = 0; n < t->count; n++)
        memcpy(out + 3 * (n * f->frame_count + frame), directions + 3 * (t->first + n), 3 * sizeof *out);
}

static pelt_result read_frames(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const fit *f = user;
    const pelt_mesh *mesh = f->job->source;
    px_arena *arena = px_arena_create(f->context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    float *points = PX_NEW(arena, float, 3 * (size_t)mesh->points.count);
    float *normals = PX_NEW(arena, float, 3 * (size_t)mesh->vertex_count);
    float *tangents = f->targets.tangents ? PX_NEW(arena, float, 3 * (size_t)mesh->vertex_count) : NULL;
    double *sums = PX_NEW(arena, double, 3 * (size_t)f->shading.pieces.count);
    bool ready = points && normals && sums && (tangents || !f->targets.tangents);
    pelt_result result = ready ? PELT_OK : PELT_ERROR_MEMORY;
    for (size_t k = first; result == PELT_OK && k < first + count; k++) {
        uint32_t c, number;
        const pelt_clip *clip = clip_of(f, (uint32_t)k, &c, &number);
        result = pelt_clip_read(f->context, clip, number, 0, clip->point_count, points);
        px_clip_release(clip, clip->point_count);
        if (result != PELT_OK)
            break;
        px_shading_frame(&f->shading, points, sums, normals, tangents);
        for (size_t i = 0; i < mesh->vertex_count; i++) { /* no area: no target, see px_direction_frame_of */
            const double *sum = sums + 3 * (size_t)f->shading.pieces.of[i];
            if (sum[0] == 0 && sum[1] == 0 && sum[2] == 0)
                memset(normals + 3 * i, 0, 3 * sizeof *normals);
        }
        spread(f, (uint32_t)k, normals, f->targets.normals);
        if (tangents)
            spread(f, (uint32_t)k, tangents, f->targets.tangents);
    }
    px_arena_destroy(arena);
    return result;
}

/* ---- One vertex -------------------------------------------------------------------------------------------- */

/* The data of the fit of one direction. */
typedef struct direction_fit {
    px_direction_frame *frames;
    size_t count;
    bool robust;
} direction_fit;

/* The system of a step from direction `n`; returns the sum of squared angles there. Robust: an angle a counts
 * a² / (1 + a²/r²), r = ROBUST_ANGLE, so that frames far away count no more than r² each (Geman and McClure 1987). */
static double sum_up(const direction_fit *d, const double n[3], px_direction_step *s) {
    double sum = 0;
    *s = (px_direction_step){0};
    for (size_t k = 0; k < d->count; k++) {
        if (!d->robust) {
            sum += px_direction_add(s, &d->frames[k], n);
            continue;
        }
        px_direction_step frame = {0};
        double angle2 = px_direction_add(&frame, &d->frames[k], n);
        double share = 1 / (1 + angle2 / (ROBUST_ANGLE * ROBUST_ANGLE));
        for (int e = 0; e < 6; e++)
            s->h[e] += share * share * frame.h[e];
        for (int e = 0; e < 3; e++)
            s->g[e] += share * share * frame.g[e];
        sum += share * angle2;
    }
    return sum;
}

/* n plus a damped step, normalised; false when the step is undefined. */
static bool step_from(const double n[3], const px_direction_step *s, double damping, double out[3]) {
    double step[3];
    if (!px_direction_solve(s, n, damping, step))
        return false;
    for (int c = 0; c < 3; c++)
        out[c] = n[c] + step[c];
    double length = sqrt(out[0] * out[0] + out[1] * out[1] + out[2] * out[2]);
    for (int c = 0; c < 3; c++)
        out[c] /= length;
    return length > 0;
}

/* Improves `direction`, which is unchanged when no step lowers the error, with matrices [frame][9] and wanted [frame][3].
 * Returns the remaining error. */
static double improve(const direction_fit *d, const float *matrices, const float *wanted, float direction[3]) {
    for (size_t k = 0; k < d->count; k++)
        d->frames[k] = px_direction_frame_of(matrices + 9 * k, wanted + 3 * k);
    double n[3] = {(double)direction[0], (double)direction[1], (double)direction[2]}, damping = PX_DAMPING;
    px_direction_step here;
    double sum = sum_up(d, n, &here);
    bool better = false, enough = false;
    for (uint32_t step = 0; step < MAX_STEPS && damping < PX_DAMPING_MOST && !enough; step++) {
        double next[3];
        px_direction_step there;
        if (!step_from(n, &here, damping, next))
            break;
        double then = sum_up(d, next, &there);
        damping *= then < sum ? 0.1 : 10;
        if (!(then < sum))
            continue;
        enough = sum - then < CONVERGENCE_RATIO * sum;
        memcpy(n, next, sizeof n);
        here = there;
        sum = then;
        better = true;
    }
    for (int c = 0; c < 3 && better; c++)
        direction[c] = (float)n[c];
    return sum;
}

static pelt_result fit_vertices(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const fit *f = user;
    const px_normal_fit *job = f->job;
    size_t frames = f->frame_count, bones = job->rig->skin.bone_count;
    float *matrices = PX_ALLOC(f->context, float, px_mul_size(9, frames));
    direction_fit d = {PX_ALLOC(f->context, px_direction_frame, frames), frames, f->robust};
    bool ready = matrices && d.frames;
    for (size_t n = first; ready && n < first + count; n++) {
        uint32_t vertex = f->targets.first + (uint32_t)n;
        for (size_t k = 0; k < frames; k++) {
            double m[12];
            px_skin_blend(&job->rig->skin, f->palettes + k * bones, vertex, m);
            for (size_t e = 0; e < 9; e++)
                matrices[9 * k + e] = (float)m[e + e / 3];
        }
        f->sums[vertex] = improve(&d, matrices, f->targets.normals + 3 * n * frames, job->normals + 3 * (size_t)vertex);
        if (f->targets.tangents)
            improve(&d, matrices, f->targets.tangents + 3 * n * frames, job->tangents + 4 * (size_t)vertex);
    }
    px_free(f->context, d.frames);
    px_free(f->context, matrices);
    return ready ? PELT_OK : PELT_ERROR_MEMORY;
}

/* ---- All of them ------------------------------------------------------------------------------------------- */

/* Fits all vertices, each process of a group its share, in ranges of `most`. */
static pelt_result fit_all(fit *f, size_t most) {
    const px_leaves *share = &f->share;
    for (size_t first = px_leaves_first(share), end = first + px_leaves_own(share); first < end; first += most) {
        f->targets.first = (uint32_t)first;
        f->targets.count = (uint32_t)px_min_size(most, end - first);
        PX_TRY(px_parallel(f->context, "normals", f->frame_count, FRAME_BLOCK, read_frames, f));
        PX_TRY(px_parallel(f->context, "normals", f->targets.count, VERTEX_BLOCK, fit_vertices, f));
    }
    if (f->targets.tangents)
        PX_TRY(px_leaves_gather(f->context, share, f->job->tangents, 4 * sizeof(float)));
    PX_TRY(px_leaves_gather(f->context, share, f->job->normals, 3 * sizeof(float)));
    return px_leaves_gather(f->context, share, f->sums, sizeof *f->sums);
}

static pelt_result run(fit *f) {
    const px_normal_fit *job = f->job;
    const pelt_mesh *mesh = job->source;
    bool tangents = job->tangents && mesh->tangents;
    size_t bytes = px_mul_size(f->frame_count, (tangents ? 6 : 3) * sizeof(float)), count = mesh->vertex_count;
    f->share = px_leaves_even(f->context, count);
    size_t most =
        px_min_size(px_max_size(TARGET_BYTES / pelt_group_size(f->context) / px_max_size(bytes, 1), VERTEX_BLOCK),
                    px_leaves_own(&f->share));
    PX_TRY(px_shading_make(f->scratch, mesh, &f->shading));
    PX_TRY(pose(f));
    f->targets.normals = PX_NEW(f->scratch, float, px_mul_size(3 * most, f->frame_count));
    f->targets.tangents = tangents ? PX_NEW(f->scratch, float, px_mul_size(3 * most, f->frame_count)) : NULL;
    f->sums = PX_NEW(f->scratch, double, count);
    float *start = PX_NEW(f->scratch, float, 7 * count);
    if (!f->targets.normals || (tangents && !f->targets.tangents) || !f->sums || !start)
        return PELT_ERROR_MEMORY;
    memcpy(start, job->normals, 3 * count * sizeof *start);
    if (tangents)
        memcpy(start + 3 * count, job->tangents, 4 * count * sizeof *start);
    PX_TRY(fit_all(f, most));
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += f->sums[i];
    if (sum <= CRUMPLED_ANGLE * CRUMPLED_ANGLE * (double)count * f->frame_count)
        return PELT_OK;
    memcpy(job->normals, start, 3 * count * sizeof *start);
    if (tangents)
        memcpy(job->tangents, start + 3 * count, 4 * count * sizeof *start);
    f->robust = true;
    return fit_all(f, most);
}

pelt_result px_fit_normals(pelt_context *context, const px_normal_fit *job) {
    fit f = {.context = context, .job = job};
    count_frames(&f);
    if (f.total == 0 || job->source->triangle_count == 0)
        return PELT_OK;
    f.scratch = px_arena_create(context);
    pelt_result result = f.scratch ? run(&f) : PELT_ERROR_MEMORY;
    px_arena_destroy(f.scratch);
    return px_group_end(context, result);
}
