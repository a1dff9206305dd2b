/* Weight transfer on the real characters. Prints the tables of docs/weights.md:
 *
 *   bench_weights            there and back through copies with a half and a quarter of the triangles (pelt_simplify_levels),
 *                            and the error that no linear weights on the copy can go below (weights_bound.c)
 *   bench_weights --merged   the same through copies whose vertices are merged in cells
 *   bench_weights --cloth    garments that take the weights of the body below: share of their vertices under its skin
 *   … [NAME]                 only characters whose path contains NAME
 */
#include "characters.h"
#include "core/classes.h"
#include "core/mesh.h"
#include "core/surface.h"
#include "weights_bound.h"

#include <pelt/io.h>
#include <pelt/retarget.h>
#include <pelt/run.h>
#include <pelt/simplify.h>
#include <pelt/weights.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WRONG_L1 1.9 /* a vertex whose weights differ by more is wholly wrong; 2: no joint in common */

static void need(pelt_context *context, pelt_result result) {
    if (result == PELT_OK)
        return;
    fprintf(stderr, "%s\n", pelt_error_text(context));
    exit(1);
}

/* ---- There and back --------------------------------------------------------------------------------------- */

typedef struct errors {
    uint32_t count, wrong_count;
    double mean, most;
    double least; /* mean that no linear weights on the thinned copy can go below */
} errors;

/* Σ_joints |w_a − w_b| of a vertex; `sums` [joint]: scratch, 0 before and after. */
static double vertex_l1(const pelt_model *a, const pelt_model *b, size_t i, double *sums) {
    double out = 0;
    const pelt_model *models[] = {a, b};
    for (int pass = 0; pass < 2; pass++) {
        for (int m = 0; m < 2; m++) {
            const pelt_skin *skin = &models[m]->skin;
            for (size_t e = i * skin->influence_count; e < (i + 1) * skin->influence_count; e++) {
                double *sum = &sums[skin->bone_joints[skin->bones[e]]];
                if (pass == 0) {
                    *sum += (m ? -1 : 1) * (double)skin->weights[e];
                } else {
                    out += fabs(*sum);
                    *sum = 0;
                }
            }
        }
    }
    return out;
}

static errors compare(const pelt_model *a, const pelt_model *b) {
    errors out = {0};
    double *sums = calloc(a->skeleton.joint_count, sizeof *sums);
    for (uint32_t p = 0; sums && p < a->mesh.part_count; p++) {
        const pelt_part *part = &a->mesh.parts[p];
        for (size_t i = part->first_vertex; part->skinned && i < part->first_vertex + part->vertex_count; i++) {
            double l1 = vertex_l1(a, b, i, sums);
            out.count++;
            out.wrong_count += l1 > WRONG_L1;
            out.mean += l1;
            out.most = fmax(out.most, l1);
        }
    }
    out.mean /= out.count ? out.count : 1;
    free(sums);
    return out;
}

/* There and back through `thin`, which it destroys. */
static errors round_trip(pelt_context *context, const character *c, pelt_model *model, pelt_model *thin) {
    const char *paths[] = {c->path};
    pelt_model *back;
    need(context, pelt_load(context, paths, 1, NULL, &back));
    need(context, pelt_weights_transfer(context, model, thin, NULL, NULL));
    need(context, pelt_weights_transfer(context, thin, back, NULL, NULL));
    errors e = compare(model, back);
    e.least = weights_bound_find(context, model, thin).lower;
    pelt_model_destroy(back);
    pelt_model_destroy(thin);
    return e;
}

static void round_trips(pelt_context *context, const character_list *list) {
    errors totals[2] = {0};
    uint32_t character_count = 0;
    printf("| character | vertices | L1 by a half | at least | largest | wholly wrong | L1 by a quarter | at least | "
           "largest | wholly wrong |\n"
           "|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t n = 0; n < list->count; n++) {
        pelt_model *model = NULL;
        const char *reason;
        need(context, character_load(context, &list->items[n], &model, &reason));
        if (!reason) {
            character_count++;
            printf("| %s | %u |", list->items[n].name, model->mesh.vertex_count);
            for (int r = 0; r < 2; r++) {
                double ratio = r ? 0.25 : 0.5;
                pelt_model *thin;
                need(context, pelt_simplify_levels(context, model, NULL, &ratio, 1, &thin, NULL));
                errors e = round_trip(context, &list->items[n], model, thin);
                printf(" %.4f | %.4f | %.2f | %u |", e.mean, e.least, e.most, e.wrong_count);
                totals[r].mean += e.mean;
                totals[r].least += e.least;
                totals[r].most = fmax(totals[r].most, e.most);
                totals[r].wrong_count += e.wrong_count;
            }
            printf("\n");
        }
        pelt_model_destroy(model);
        fflush(stdout);
    }
    printf("| mean of %u | |", character_count);
    for (int r = 0; r < 2; r++)
        printf(" %.4f | %.4f | %.2f | %u |", totals[r].mean / fmax(character_count, 1),
               totals[r].least / fmax(character_count, 1), totals[r].most, totals[r].wrong_count);
    printf("\n");
}

/* A bare copy of the mesh with one vertex, the mean, for all in a cubic cell with edges of `size` of the longest side. */
static pelt_model *merge_cells(pelt_context *context, const pelt_model *model, double size) {
    const pelt_mesh *mesh = &model->mesh;
    float low[3], high[3];
    pelt_model *out;
    need(context, pelt_model_create(context, &out));
    pelt_mesh *m = &out->mesh;
    m->positions = pelt_model_alloc(context, out, 3 * (size_t)mesh->vertex_count, sizeof *m->positions);
    m->triangles = pelt_model_alloc(context, out, 3 * (size_t)mesh->triangle_count, sizeof *m->triangles);
    m->parts = pelt_model_alloc(context, out, 1, sizeof *m->parts);
    uint32_t *places = malloc(sizeof *places * mesh->vertex_count);
    double(*cells)[7] = calloc(mesh->vertex_count, sizeof *cells); /* cell, sum of positions, number */
    if (!m->positions || !m->triangles || !m->parts || !places || !cells)
        exit(1);
    px_box(mesh->positions, mesh->vertex_count, low, high);
    double edge = size * fmax(high[0] - low[0], fmax(high[1] - low[1], high[2] - low[2]));
    for (size_t i = 0; i < mesh->vertex_count; i++) {
        const float *p = mesh->positions + 3 * i;
        double cell[3] = {floor(p[0] / edge), floor(p[1] / edge), floor(p[2] / edge)};
        uint32_t at = 0;
        while (at < m->vertex_count && memcmp(cells[at], cell, sizeof cell) != 0)
            at++;
        memcpy(cells[at], cell, sizeof cell);
        m->vertex_count += at == m->vertex_count;
        for (size_t c = 0; c < 3; c++)
            cells[at][3 + c] += (double)p[c];
        cells[at][6]++;
        places[i] = at;
    }
    for (size_t e = 0; e < 3 * (size_t)m->vertex_count; e++)
        m->positions[e] = (float)(cells[e / 3][3 + e % 3] / cells[e / 3][6]);
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        uint32_t *to = m->triangles + 3 * (size_t)m->triangle_count;
        for (size_t k = 0; k < 3; k++)
            to[k] = places[mesh->triangles[3 * t + k]];
        m->triangle_count += to[0] != to[1] && to[1] != to[2] && to[2] != to[0];
    }
    free(cells);
    free(places);
    m->polygon_count = m->triangle_count;
    m->points.count = m->vertex_count;
    m->part_count = 1;
    m->parts[0] = (pelt_part){
        .name = "part", .triangle_count = m->triangle_count, .vertex_count = m->vertex_count, .joint = PELT_NONE};
    return out;
}

static void merged(pelt_context *context, const char *filter) {
    static const double sizes[] = {0.008, 0.012};
    character_list list = characters_find(filter ? filter : "human_");
    printf("| character | vertices | merged in cells of | vertices | L1 | at least | largest | wholly wrong |\n"
           "|---|---|---|---|---|---|---|---|\n");
    for (size_t n = 0; n < 2 * list.count; n++) {
        const character *c = &list.items[n / 2];
        pelt_model *model = NULL;
        const char *reason;
        need(context, character_load(context, c, &model, &reason));
        if (!reason) {
            pelt_model *thin = merge_cells(context, model, sizes[n % 2]);
            uint32_t count = thin->mesh.vertex_count;
            errors e = round_trip(context, c, model, thin);
            printf("| %s | %u | %.1f %% | %u | %.4f | %.4f | %.2f | %u |\n", c->name, model->mesh.vertex_count,
                   100 * sizes[n % 2], count, e.mean, e.least, e.most, e.wrong_count);
            fflush(stdout);
        }
        pelt_model_destroy(model);
    }
    characters_free(&list);
}

/* ---- Clothing --------------------------------------------------------------------------------------------- */

#define POSES_PER_MOTION 8u
#define MOTIONS_MOST     5u
#define UNDER            1e-4 /* of the diagonal: a vertex deeper below the skin is under it */
#define NEAR             0.05 /* of the diagonal: a shell whose vertices lie farther from the body is no clothing */
#define GARMENT_LEAST    30u  /* vertices of a shell that counts */

/* The part of a model whose triangles are marked. Shares skeleton and motions with the model, which must outlive it. */
static pelt_model *cut_out(pelt_context *context, const pelt_model *model, const uint8_t *marks, double scale) {
    const pelt_mesh *mesh = &model->mesh;
    pelt_model *out;
    need(context, pelt_model_create(context, &out));
    uint32_t *places = malloc((size_t)mesh->vertex_count * sizeof *places), K = model->skin.influence_count;
    pelt_mesh *m = &out->mesh;
    m->positions = pelt_model_alloc(context, out, 3 * (size_t)mesh->vertex_count, sizeof *m->positions);
    m->triangles = pelt_model_alloc(context, out, 3 * (size_t)mesh->triangle_count, sizeof *m->triangles);
    m->parts = pelt_model_alloc(context, out, 1, sizeof *m->parts);
    pelt_skin skin = model->skin;
    skin.bones = pelt_model_alloc(context, out, (size_t)mesh->vertex_count * K, sizeof *skin.bones);
    skin.weights = pelt_model_alloc(context, out, (size_t)mesh->vertex_count * K, sizeof *skin.weights);
    if (!places || !m->positions || !m->triangles || !m->parts || !skin.bones || !skin.weights)
        exit(1);
    memset(places, 0xFF, (size_t)mesh->vertex_count * sizeof *places);
    for (size_t e = 0; e < 3 * (size_t)mesh->triangle_count; e++) {
        uint32_t i = mesh->triangles[e];
        if (!marks[e / 3])
            continue;
        if (places[i] == PELT_NONE) {
            places[i] = m->vertex_count++;
            for (size_t c = 0; c < 3; c++)
                m->positions[3 * (size_t)places[i] + c] = (float)(scale * (double)mesh->positions[3 * (size_t)i + c]);
            memcpy(skin.bones + (size_t)places[i] * K, model->skin.bones + (size_t)i * K, K * sizeof *skin.bones);
            memcpy(skin.weights + (size_t)places[i] * K, model->skin.weights + (size_t)i * K, K * sizeof *skin.weights);
        }
        m->triangles[3 * (size_t)m->triangle_count + e % 3] = places[i];
        m->triangle_count += e % 3 == 2;
    }
    m->polygon_count = m->triangle_count;
    m->part_count = 1;
    m->parts[0] = (pelt_part){.name = "part",
                              .triangle_count = m->triangle_count,
                              .vertex_count = m->vertex_count,
                              .joint = PELT_NONE,
                              .skinned = model->skin.bone_count > 0};
    m->points.count = m->vertex_count;
    if (model->skin.bone_count) {
        out->skin = skin;
        out->skeleton = model->skeleton;
        out->motions = model->motions;
        out->motion_count = model->motion_count;
    }
    free(places);
    need(context, pelt_model_weld(context, out));
    return out;
}

/* Signed distance of points from a posed body: below 0 under its skin. */
typedef struct skin_surface {
    px_arena *arena;
    double *normals; /* [class][3] */
    float *positions;
    uint32_t *triangles;
    px_surface tree;
} skin_surface;

static skin_surface surface_of(pelt_context *context, const pelt_mesh *mesh, const float *positions) {
    skin_surface s = {.arena = px_arena_create(context)};
    s.positions = px_class_positions(s.arena, &mesh->weld, positions);
    s.triangles = px_class_triangles(s.arena, mesh, &mesh->weld);
    s.normals = PX_NEW(s.arena, double, 3 * (size_t)mesh->weld.count);
    if (!s.positions || !s.triangles || !s.normals)
        exit(1);
    px_normals_sum(mesh->triangles, mesh->triangle_count, NULL, mesh->weld.of, positions, s.normals);
    need(context, px_surface_make(s.arena, s.positions, s.triangles, mesh->triangle_count, &s.tree));
    return s;
}

static double signed_distance(const skin_surface *s, const float p[3], px_surface_point *found) {
    const double at[] = {p[0], p[1], p[2]};
    double dot = 0;
    if (!px_surface_nearest(&s->tree, at, INFINITY, NULL, NULL, found))
        return INFINITY;
    const uint32_t *corners = s->triangles + 3 * (size_t)found->triangle;
    for (size_t e = 0; e < 9; e++)
        dot += found->corners[e / 3] * s->normals[3 * (size_t)corners[e / 3] + e % 3] *
               (at[e % 3] - (double)s->positions[3 * (size_t)corners[e / 3] + e % 3]);
    return dot < 0 ? -found->distance : found->distance;
}

/* Moves points as if they were attached to the skin: each keeps its place over the nearest triangle at rest. */
typedef struct attachment {
    px_surface_point *points; /* [vertex] at rest */
    double *offsets;          /* [vertex] signed distance at rest */
} attachment;

static void carry(const attachment *a, const skin_surface *s, size_t count, float *out) {
    for (size_t i = 0; i < count; i++) {
        const uint32_t *corners = s->triangles + 3 * (size_t)a->points[i].triangle;
        double at[3] = {0, 0, 0}, n[3] = {0, 0, 0};
        for (size_t e = 0; e < 9; e++) {
            at[e % 3] += a->points[i].corners[e / 3] * (double)s->positions[3 * (size_t)corners[e / 3] + e % 3];
            n[e % 3] += a->points[i].corners[e / 3] * s->normals[3 * (size_t)corners[e / 3] + e % 3];
        }
        px_normal_unit(n, n);
        for (size_t c = 0; c < 3; c++)
            out[3 * i + c] = (float)(at[c] + a->offsets[i] * n[c]);
    }
}

/* Share of the garment's vertices that are under the skin, over the poses of the body's motions; those that are under it
 * at rest are left out. `attached`: they follow the skin, not their weights; what is under then, is so because the body
 * enters itself. */
static double share_under(pelt_context *context, const pelt_model *body, const pelt_model *garment, double diagonal,
                          bool attached) {
    attachment to_skin = {malloc(sizeof *to_skin.points * garment->mesh.vertex_count),
                          malloc(sizeof *to_skin.offsets * garment->mesh.vertex_count)};
    float *skin = malloc(3 * sizeof *skin * body->mesh.vertex_count);
    float *cloth = malloc(3 * sizeof *cloth * garment->mesh.vertex_count);
    uint8_t *counts = calloc(garment->mesh.vertex_count, 1);
    size_t under = 0, all = 0;
    uint32_t motions = body->motion_count < MOTIONS_MOST ? body->motion_count : MOTIONS_MOST;
    for (uint32_t pose = 0; pose <= motions * POSES_PER_MOTION; pose++) {
        const pelt_motion *motion = pose ? &body->motions[(pose - 1) / POSES_PER_MOTION] : NULL;
        float share = ((float)((pose + POSES_PER_MOTION - 1) % POSES_PER_MOTION) + 0.5f) / POSES_PER_MOTION;
        float time = motion ? motion->start + share * (motion->end - motion->start) : 0;
        need(context, pelt_model_pose(context, body, motion, time, PELT_SKINNING_LINEAR, skin, NULL));
        const pelt_motion *own = motion ? &garment->motions[(pose - 1) / POSES_PER_MOTION] : NULL;
        need(context, pelt_model_pose(context, garment, own, time, PELT_SKINNING_LINEAR, cloth, NULL));
        skin_surface s = surface_of(context, &body->mesh, skin);
        if (attached && motion)
            carry(&to_skin, &s, garment->mesh.vertex_count, cloth);
        for (size_t i = 0; i < garment->mesh.vertex_count; i++) {
            px_surface_point found;
            double distance = signed_distance(&s, cloth + 3 * i, &found);
            bool is_under = distance < -UNDER * diagonal;
            if (!motion) {
                counts[i] = !is_under;
                to_skin.points[i] = found;
                to_skin.offsets[i] = distance;
            } else if (counts[i]) {
                all++;
                under += is_under;
            }
        }
        px_arena_destroy(s.arena);
    }
    free(skin);
    free(cloth);
    free(counts);
    free(to_skin.points);
    free(to_skin.offsets);
    return all ? (double)under / (double)all : NAN;
}

/* Gives the garment the weights of the nearest vertex of the body: what a plain copy does. */
static void copy_nearest(const pelt_model *body, pelt_model *garment) {
    uint32_t K = body->skin.influence_count;
    for (size_t i = 0; i < garment->mesh.vertex_count; i++) {
        double best = INFINITY;
        size_t found = 0;
        for (size_t b = 0; b < body->mesh.vertex_count; b++) {
            double square = 0;
            for (size_t c = 0; c < 3; c++) {
                double off = (double)garment->mesh.positions[3 * i + c] - (double)body->mesh.positions[3 * b + c];
                square += off * off;
            }
            if (square < best) {
                best = square;
                found = b;
            }
        }
        memcpy(garment->skin.bones + i * K, body->skin.bones + found * K, K * sizeof *garment->skin.bones);
        memcpy(garment->skin.weights + i * K, body->skin.weights + found * K, K * sizeof *garment->skin.weights);
    }
}

/* One row: `garment` has the weights that came with the file, or none. */
static void dress(pelt_context *context, const char *name, pelt_model *body, pelt_model *garment) {
    float low[3], high[3];
    double diagonal = px_box(body->mesh.positions, body->mesh.vertex_count, low, high), file = NAN;
    if (garment->skin.bone_count)
        file = share_under(context, body, garment, diagonal, false);
    pelt_model *bare;
    need(context, pelt_model_borrow(context, garment, &bare));
    bare->skin = (pelt_skin){0};
    bare->skeleton = (pelt_skeleton){0};
    bare->motions = NULL;
    bare->motion_count = 0;
    bare->mesh.parts[0].skinned = false;
    pelt_transfer_report report;
    need(context, pelt_weights_transfer(context, body, bare, NULL, &report));
    double ours = share_under(context, body, bare, diagonal, false);
    double attached = share_under(context, body, bare, diagonal, true);
    copy_nearest(body, bare);
    double nearest = share_under(context, body, bare, diagonal, false);
    printf("| %s | %u | %u | %u | %u | ", name, report.vertex_count, report.matched_count, report.filled_count,
           report.far_count);
    printf(isnan(file) ? "–" : "%.2f %%", 100 * file);
    printf(" | %.2f %% | %.2f %% | %.2f %% |\n", 100 * nearest, 100 * ours, 100 * attached);
    fflush(stdout);
    pelt_model_destroy(bare);
}

/* The shells of a character: `shells` [triangle]; returns their number. */
static uint32_t find_shells(const pelt_mesh *mesh, uint32_t *shells) {
    uint32_t *roots = malloc(sizeof *roots * mesh->weld.count), count = 0;
    for (uint32_t c = 0; c < mesh->weld.count; c++)
        roots[c] = c;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t t = 0; t < mesh->triangle_count; t++) {
            uint32_t least = PELT_NONE;
            for (size_t e = 3 * t; e < 3 * t + 3; e++)
                least =
                    roots[mesh->weld.of[mesh->triangles[e]]] < least ? roots[mesh->weld.of[mesh->triangles[e]]] : least;
            for (size_t e = 3 * t; e < 3 * t + 3; e++)
                if (roots[mesh->weld.of[mesh->triangles[e]]] != least) {
                    roots[mesh->weld.of[mesh->triangles[e]]] = least;
                    changed = true;
                }
        }
    }
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        shells[t] = roots[mesh->weld.of[mesh->triangles[3 * t]]];
        count = shells[t] >= count ? shells[t] + 1 : count;
    }
    free(roots);
    return count;
}

/* Adds motions of the CMU database. Returns false where there are none, or the joints do not match. */
static bool add_motions(pelt_context *context, pelt_model *rig) {
    static const char *const motions[] = {"007/07_05.bvh", "009/09_06.bvh", "131/131_04.bvh"};
    const char *folder = getenv("PELT_DATA");
    for (size_t m = 0; m < sizeof motions / sizeof motions[0]; m++) {
        char path[1024];
        const char *paths[] = {path};
        pelt_model *source;
        snprintf(path, sizeof path, "%s/mocap-cmu-bvh/%s", folder ? folder : "../shared/data", motions[m]);
        if (pelt_load(context, paths, 1, NULL, &source) != PELT_OK) {
            printf("skipped: no real data at %s\n", path);
            return false;
        }
        pelt_joint_match *matches = malloc(sizeof *matches * rig->skeleton.joint_count);
        pelt_result result = pelt_match_joints(context, &rig->skeleton, &source->skeleton, NULL, matches);
        if (result == PELT_OK)
            result = pelt_retarget(context, source, source->motions, matches, NULL, rig, NULL);
        free(matches);
        pelt_model_destroy(source);
        if (result != PELT_OK)
            return false;
    }
    return true;
}

/* Separates a character's largest shell, the body, from the shells that lie on it, and dresses the one in the others. */
static void dress_character(pelt_context *context, const character *c, pelt_model *model) {
    const pelt_mesh *mesh = &model->mesh;
    bool still = true;
    for (uint32_t m = 0; m < model->motion_count; m++)
        still &= model->motions[m].end - model->motions[m].start < 0.1f;
    if (still) {
        model->motion_count = 0;
        if (!add_motions(context, model))
            return;
    }
    need(context, pelt_model_weld(context, model));
    uint32_t *shells = malloc(sizeof *shells * mesh->triangle_count), largest = 0;
    uint32_t shell_count = find_shells(mesh, shells), *sizes = calloc(shell_count, sizeof *sizes);
    uint8_t *marks = malloc(mesh->triangle_count), *wanted = calloc(shell_count, 1), any = 0;
    for (size_t t = 0; t < mesh->triangle_count; t++)
        sizes[shells[t]]++;
    for (uint32_t s = 0; s < shell_count; s++)
        largest = sizes[s] > sizes[largest] ? s : largest;
    for (size_t t = 0; t < mesh->triangle_count; t++)
        marks[t] = shells[t] == largest;
    pelt_model *body = cut_out(context, model, marks, 1);
    float low[3], high[3], *skin = malloc(3 * sizeof *skin * body->mesh.vertex_count);
    double diagonal = px_box(body->mesh.positions, body->mesh.vertex_count, low, high);
    need(context, pelt_model_pose(context, body, NULL, 0, PELT_SKINNING_LINEAR, skin, NULL));
    float *posed = malloc(3 * sizeof *posed * mesh->vertex_count);
    need(context, pelt_model_pose(context, model, NULL, 0, PELT_SKINNING_LINEAR, posed, NULL));
    skin_surface surface = surface_of(context, &body->mesh, skin);
    for (uint32_t s = 0; s < shell_count; s++) {
        uint32_t outside = 0, all = 0;
        double farthest = 0;
        for (size_t t = 0; t < mesh->triangle_count && s != largest && sizes[s]; t++)
            for (size_t e = 3 * t; e < 3 * t + 3 && shells[t] == s; e++) {
                px_surface_point found;
                double distance = signed_distance(&surface, posed + 3 * (size_t)mesh->triangles[e], &found);
                all++;
                outside += distance > 0;
                farthest = fmax(farthest, fabs(distance));
            }
        wanted[s] = all >= 6 * GARMENT_LEAST && outside > 0.9 * all && farthest < NEAR * diagonal;
        any |= wanted[s];
    }
    px_arena_destroy(surface.arena);
    for (size_t t = 0; t < mesh->triangle_count; t++)
        marks[t] = wanted[shells[t]];
    if (any) {
        pelt_model *garment = cut_out(context, model, marks, 1);
        dress(context, c->name, body, garment);
        pelt_model_destroy(garment);
    }
    pelt_model_destroy(body);
    free(shells);
    free(sizes);
    free(marks);
    free(wanted);
    free(skin);
    free(posed);
}

/* The clothes of MakeHuman's base mesh, in tenths of metres, on its body in metres, in motions of the CMU database. */
static void dress_human(pelt_context *context, const char *folder, const char *filter) {
    static const char *const garments[] = {"helper-tights", "helper-skirt", "helper-hair"};
    char path[1024];
    const char *paths[] = {path};
    pelt_model *body, *base;
    if (filter && !strstr("makehuman", filter))
        return;
    snprintf(path, sizeof path, "%s/char-makehuman/human_cmu.glb", folder);
    if (pelt_load(context, paths, 1, NULL, &body) != PELT_OK) {
        printf("skipped: no real data at %s\n", path);
        return;
    }
    if (!add_motions(context, body)) {
        pelt_model_destroy(body);
        return;
    }
    snprintf(path, sizeof path, "%s/char-makehuman/3dobjs/base.obj", folder);
    need(context, pelt_load(context, paths, 1, NULL, &base));
    need(context, pelt_model_weld(context, body));
    uint8_t *marks = malloc(base->mesh.triangle_count);
    for (size_t g = 0; g < 3; g++) {
        memset(marks, 0, base->mesh.triangle_count);
        for (uint32_t p = 0; p < base->mesh.part_count; p++)
            if (strcmp(base->mesh.parts[p].name, garments[g]) == 0)
                memset(marks + base->mesh.parts[p].first_triangle, 1, base->mesh.parts[p].triangle_count);
        pelt_model *garment = cut_out(context, base, marks, 0.1);
        char name[64];
        snprintf(name, sizeof name, "human_cmu, %s", garments[g]);
        dress(context, name, body, garment);
        pelt_model_destroy(garment);
    }
    free(marks);
    pelt_model_destroy(base);
    pelt_model_destroy(body);
}

static void clothes(pelt_context *context, const character_list *list, const char *filter) {
    const char *folder = getenv("PELT_DATA");
    printf("| character | vertices | matched | filled | far | under, file's weights | nearest vertex | "
           "transfer | attached to the skin |\n|---|---|---|---|---|---|---|---|---|\n");
    for (size_t n = 0; n < list->count; n++) {
        pelt_model *model = NULL;
        const char *reason;
        need(context, character_load(context, &list->items[n], &model, &reason));
        if (!reason)
            dress_character(context, &list->items[n], model);
        pelt_model_destroy(model);
    }
    dress_human(context, folder ? folder : "../shared/data", filter);
}

int main(int count, char **texts) {
    bool cloth = count > 1 && strcmp(texts[1], "--cloth") == 0, cells = count > 1 && strcmp(texts[1], "--merged") == 0;
    const char *filter = count > 1 + (cloth || cells) ? texts[1 + (cloth || cells)] : NULL;
    character_list list = characters_find(filter);
    pelt_context *context;
    if (pelt_context_create(NULL, &context) != PELT_OK)
        return 1;
    if (cloth)
        clothes(context, &list, filter);
    else if (cells)
        merged(context, filter);
    else
        round_trips(context, &list);
    pelt_context_destroy(context);
    characters_free(&list);
    return 0;
}
