/* Volumes around joints of real characters in motion. */
#include "volume_table.h"

#include "jiggle/object.h"
#include "mesh_regions.h"
#include "volume_poses.h"

#include <pelt/io.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Volumes of one joint relative to rest, minus 1, in the frame of the largest loss and of the largest error. */
typedef struct joint_row {
    double rest;       /* share of the whole volume */
    double lost, kept; /* the largest loss by blending; the remaining loss in that frame */
    double worst;      /* the largest change with preservation in frames in which blending loses more than 5 % */
    uint32_t frame;
} joint_row;

enum { LATTICE, MESH, KINDS };

typedef struct measure {
    pelt_model *rig;
    pelt_jiggle *jiggle;
    volume_motion motion;
    px_arena *arena;
    px_jiggle_parts vertex_parts;
    mesh_regions regions;
    pelt_transform *locals;
    float *positions;
    double *rest[KINDS], *before[KINDS], *after[KINDS]; /* [joint] */
    joint_row *rows[KINDS];                             /* [joint] */
} measure;

/* Assigns vertices to parts, like particles. */
static pelt_result make_regions(measure *m) {
    const pelt_skin *skin = &m->rig->skin;
    uint32_t count = m->rig->mesh.vertex_count;
    px_lattice vertices = {.particle_count = count, .rest = m->jiggle->subject.positions};
    px_weight_table table;
    PX_TRY(px_weight_table_make(m->arena, count, 1, &table));
    for (size_t i = 0; i < count; i++) {
        size_t best = i * skin->influence_count;
        for (size_t k = best; k < (i + 1) * skin->influence_count; k++)
            if (skin->weights[k] > skin->weights[best])
                best = k;
        table.bones[i] = (uint16_t)skin->bone_joints[skin->bones[best]];
    }
    PX_TRY(px_jiggle_parts_make(m->arena, &m->jiggle->subject, &vertices, &table, NULL, &m->vertex_parts));
    m->regions = mesh_regions_make(&m->rig->mesh, m->vertex_parts.parts, m->vertex_parts.part_count);
    return PELT_OK;
}

static void by_joint(const double *volumes, const uint32_t *joints, uint32_t count, double *out) {
    for (uint32_t k = 0; k < count; k++)
        out[joints[k]] = volumes[k];
}

static void measure_mesh(measure *m, double *out) {
    double *volumes = calloc(m->vertex_parts.part_count + 1, sizeof *volumes);
    if (volumes)
        mesh_regions_volumes(&m->regions, m->positions, volumes);
    if (volumes)
        by_joint(volumes, m->vertex_parts.joints, m->vertex_parts.part_count, out);
    free(volumes);
}

static pelt_result measure_frame(measure *m, pelt_context *context, const pelt_transform *locals, double *before[KINDS],
                                 double *after[KINDS]) {
    px_primary *primary = &m->jiggle->primary;
    float *weights = calloc(m->rig->morphs.morph_count + 1, sizeof *weights);
    for (uint32_t k = 0; weights && k < m->rig->morphs.morph_count; k++)
        weights[k] = m->rig->morphs.morphs[k].weight;
    pelt_result result =
        pelt_model_pose_locals(context, m->rig, locals, weights, PELT_SKINNING_LINEAR, m->positions, NULL);
    free(weights);
    if (result != PELT_OK)
        return result;
    measure_mesh(m, before[MESH]);
    pelt_skeleton_globals(&m->rig->skeleton, locals, m->jiggle->globals);
    const float *moved = px_primary_move(primary, m->jiggle->globals, 1);
    memcpy(m->jiggle->skin, moved, 4 * px_jiggle_padded(m->jiggle->lattice.particle_count) * sizeof *moved);
    px_jiggle_vertices(m->jiggle, m->jiggle->skin, m->positions, NULL);
    measure_mesh(m, after[MESH]);
    pelt_jiggle_report report = pelt_jiggle_get_report(m->jiggle);
    for (uint32_t k = 0; k < report.volume_count; k++) {
        before[LATTICE][m->jiggle->volumes[k].joint] = m->jiggle->volumes[k].before;
        after[LATTICE][m->jiggle->volumes[k].joint] = m->jiggle->volumes[k].after;
    }
    return PELT_OK;
}

#define LOSS 0.05 /* joints that lose more by blending must be … */
#define BAR  0.03 /* … this near to their volume afterwards */

static void take_frame(measure *m, uint32_t frame) {
    for (int kind = 0; kind < KINDS; kind++)
        for (uint32_t j = 0; j < m->rig->skeleton.joint_count; j++) {
            joint_row *row = &m->rows[kind][j];
            if (!(m->rest[kind][j] > 0))
                continue;
            double lost = m->before[kind][j] / m->rest[kind][j] - 1, left = m->after[kind][j] / m->rest[kind][j] - 1;
            if (lost < row->lost) {
                row->lost = lost;
                row->kept = left;
                row->frame = frame;
            }
            if (lost < -LOSS && fabs(left) > fabs(row->worst))
                row->worst = left;
        }
}

static pelt_result play(measure *m, pelt_context *context) {
    uint32_t joints = m->rig->skeleton.joint_count;
    m->locals = PX_NEW(m->arena, pelt_transform, joints);
    m->positions = PX_NEW(m->arena, float, 3 * (size_t)m->rig->mesh.vertex_count);
    if (!m->locals || !m->positions)
        return PELT_ERROR_MEMORY;
    for (int kind = 0; kind < KINDS; kind++) {
        m->rest[kind] = PX_NEW(m->arena, double, joints);
        m->before[kind] = PX_NEW(m->arena, double, joints);
        m->after[kind] = PX_NEW(m->arena, double, joints);
        m->rows[kind] = PX_NEW(m->arena, joint_row, joints);
        if (!m->rest[kind] || !m->before[kind] || !m->after[kind] || !m->rows[kind])
            return PELT_ERROR_MEMORY;
    }
    PX_TRY(measure_frame(m, context, m->rig->skeleton.rest, m->before, m->rest));
    double wholes[KINDS] = {0};
    for (int kind = 0; kind < KINDS; kind++) {
        for (uint32_t j = 0; j < joints; j++)
            wholes[kind] += m->rest[kind][j];
        for (uint32_t j = 0; j < joints; j++)
            m->rows[kind][j].rest = m->rest[kind][j] / wholes[kind];
    }
    px_primary_reset(&m->jiggle->primary);
    for (uint32_t f = 0; f < m->motion.frame_count; f++) {
        volume_motion_sample(&m->motion, f, m->locals);
        PX_TRY(measure_frame(m, context, m->locals, m->before, m->after));
        take_frame(m, f);
    }
    return PELT_OK;
}

static pelt_result open(measure *m, pelt_context *context, const char *rig, const char *motion, uint32_t particles) {
    char path[1024];
    const char *const paths[] = {path};
    pelt_jiggle_desc desc = pelt_jiggle_desc_default();
    snprintf(path, sizeof path, rig[0] == '/' || rig[0] == '.' ? "%s%s" : "%s/%s",
             rig[0] == '/' || rig[0] == '.' ? "" : volume_data(), rig);
    *m = (measure){.arena = px_arena_create(context)};
    if (!m->arena)
        return PELT_ERROR_MEMORY;
    PX_TRY(pelt_load(context, paths, 1, NULL, &m->rig));
    PX_TRY(volume_motion_open(context, m->rig, motion, &m->motion));
    if (particles)
        desc.particles = particles;
    PX_TRY(pelt_jiggle_create(context, m->rig, &desc, &m->jiggle));
    PX_TRY(make_regions(m));
    return play(m, context);
}

static void close(measure *m) {
    mesh_regions_free(&m->regions);
    volume_motion_close(&m->motion);
    pelt_jiggle_destroy(m->jiggle);
    pelt_model_destroy(m->rig);
    px_arena_destroy(m->arena);
}

pelt_result volume_joints(pelt_context *context, const char *rig, const char *motion, uint32_t particles) {
    measure m;
    pelt_result result = open(&m, context, rig, motion, particles);
    if (result == PELT_OK) {
        printf("%s, %s: %u frames, %u particles, cell %g; fine: %u, cell %g\n", rig, motion, m.motion.frame_count,
               m.jiggle->lattice.particle_count, (double)m.jiggle->lattice.cell,
               m.jiggle->detail.lattice.particle_count, (double)m.jiggle->detail.lattice.cell);
        printf("%-24s lattice: share %%  lost %%  left %%  worst %% frame   mesh: share %%  lost %%  left %%  worst %% "
               "frame\n",
               "joint");
        for (uint32_t j = 0; j < m.rig->skeleton.joint_count; j++) {
            const joint_row *a = &m.rows[LATTICE][j], *b = &m.rows[MESH][j];
            if (a->lost > -LOSS && b->lost > -LOSS)
                continue;
            printf("%-24s         %7.3f %8.2f %7.2f %8.2f %5u          %7.3f %8.2f %7.2f %8.2f %5u %s%s\n",
                   m.rig->skeleton.names[j], 100 * a->rest, 100 * a->lost, 100 * a->kept, 100 * a->worst, a->frame,
                   100 * b->rest, 100 * b->lost, 100 * b->kept, 100 * b->worst, b->frame,
                   fabs(a->worst) > BAR ? "L" : "", fabs(b->worst) > BAR ? "M" : "");
        }
    }
    close(&m);
    return result;
}

/* ---- The table of docs/jiggle.md -------------------------------------------------------------------------- */

static const struct {
    const char *rig, *motion;
} rows[] = {
    {"char-makehuman/human_cmu.glb", "mocap-cmu-bvh/009/09_06.bvh"},
    {"char-makehuman/human_cmu.glb", "mocap-cmu-bvh/049/49_06.bvh"},
    {"char-makehuman/human_cmu.glb", "sit"},
    {"char-makehuman/human_game.glb", "mocap-cmu-bvh/131/131_04.bvh"},
    {"char-makehuman/human_game.glb", "fist"},
    {"char-rocketbox/Male_Adult_01.glb", "mocap-cmu-bvh/049/49_06.bvh"},
    {"char-rocketbox/Male_Adult_01.glb", "fist"},
    {"char-rocketbox/Sports_Female_02.glb", "mocap-cmu-bvh/085/85_02.bvh"},
    {"char-rocketbox/Sports_Female_02.glb", "sit"},
    {"char-mesh2motion/models-variation/human-male.glb", "mocap-cmu-bvh/049/49_07.bvh"},
    {"char-mesh2motion/models-variation/human-male.glb", "fist"},
    {"char-quaternius/modular_men/Swat.glb", "mocap-cmu-bvh/016/16_01.bvh"},
};

static const char *last_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void print_row(const measure *m, const char *rig, const char *motion) {
    uint32_t joints = m->rig->skeleton.joint_count, losing = 0, kept = 0, worst = 0, lost = 0;
    const joint_row *all = m->rows[LATTICE];
    for (uint32_t j = 0; j < joints; j++) {
        losing += all[j].lost < -LOSS;
        kept += all[j].lost < -LOSS && fabs(all[j].worst) <= BAR;
        lost = all[j].lost < all[lost].lost ? j : lost;
        worst = fabs(all[j].worst) > fabs(all[worst].worst) ? j : worst;
    }
    printf("| %s | %s | %u | %.1f %% (%s) | %u | %.2f %% (%s) |\n", last_name(rig), last_name(motion), losing,
           100 * all[lost].lost, m->rig->skeleton.names[lost], kept, 100 * all[worst].worst,
           all[worst].worst != 0 ? m->rig->skeleton.names[worst] : "none");
    fflush(stdout);
}

pelt_result volume_table(pelt_context *context) {
    pelt_result result = PELT_OK;
    printf(
        "| character | motion | joints that lose over 5 %% | most by blending | of them within 3 %% | farthest off |\n"
        "|---|---|---|---|---|---|\n");
    for (size_t r = 0; r < sizeof rows / sizeof rows[0] && result == PELT_OK; r++) {
        measure m;
        result = open(&m, context, rows[r].rig, rows[r].motion, 0);
        if (result == PELT_OK)
            print_row(&m, rows[r].rig, rows[r].motion);
        close(&m);
    }
    return result;
}
