/* Contacts between limbs that are far apart in the skeleton: a hand at a thigh, fingers on a coarse grid. Weights would
 * diffuse through such contacts, so the limbs are separated there. The detected border may lie inside one of the limbs,
 * therefore the contacts are reported. */
#include "bind/bind.h"
#include "core/mesh.h"

#include <math.h>
#include <stdlib.h>

#define MIN_LINKS 4u /* links between two joints in the tree, at least; neighbours meet everywhere */
#define MIN_DETOUR_RATIO                                                                                               \
    4.0f /* path along the skeleton / path through the contact, at least: excludes faces with many joints */

typedef struct toucher {
    const px_bind_subject *subject;
    const px_bind_bones *bones;
    const px_bind_wave *wave;
    float *ways;               /* [target][target] path length along the skeleton, in cells; 0: not computed yet, < 0:
                                * not far */
    uint32_t *counts;          /* [target][target] number of shared faces; lower target first */
    px_buffer contacts;        /* [] px_bind_contact */
    uint32_t (*neighbours)[6]; /* of the volume: faces between limbs are removed here; NULL: faces stay */
} toucher;

static float link_length(const toucher *t, uint32_t joint) {
    const pelt_affine *own = &t->subject->joints[joint];
    const pelt_affine *parent = &t->subject->joints[t->subject->rig->skeleton.parents[joint]];
    double sum = 0;
    for (int e = 3; e < 12; e += 4)
        sum += ((double)own->m[e] - (double)parent->m[e]) * ((double)own->m[e] - (double)parent->m[e]);
    return (float)(sqrt(sum) / t->wave->volume->voxels.grid.cell[0]);
}

/* Whether two bones are so close that they belong to the same limb: a foot that is the child of an IK target in the
 * tree still meets its leg. */
static bool bones_meet(const toucher *t, uint32_t a, uint32_t b) {
    const px_bind_wave *wave = t->wave;
    float reach = wave->reach ? 0.5f * (wave->reach[a] + wave->reach[b]) : 0, nearest[3];
    for (uint32_t m = 0; m < t->bones->segment_count; m++)
        for (uint32_t n = 0; t->bones->segments[m].target == a && n < t->bones->segment_count; n++) {
            const px_bind_segment *own = &t->bones->segments[m], *other = &t->bones->segments[n];
            if (other->target != b)
                continue;
            const float *step = wave->volume->step;
            float gap = px_fminf(px_fminf(px_bind_segment_distance(own, step, other->a, nearest),
                                          px_bind_segment_distance(own, step, other->b, nearest)),
                                 px_fminf(px_bind_segment_distance(other, step, own->a, nearest),
                                          px_bind_segment_distance(other, step, own->b, nearest)));
            if (gap <= reach)
                return true;
        }
    return false;
}

/* Path length between the joints of two targets, through their lowest common ancestor. Repeatedly replaces the joint of
 * higher index by its parent: parents have lower indices. −1: not far; also for joints of different trees, which have
 * no path. */
static float measure_way(const toucher *t, uint32_t a, uint32_t b) {
    const uint32_t *parents = t->subject->rig->skeleton.parents;
    uint32_t links = 0;
    float length = 0;
    if (bones_meet(t, a, b))
        return -1;
    for (a = t->subject->targets[a], b = t->subject->targets[b]; a != b; links++) {
        uint32_t *higher = a > b ? &a : &b;
        if (parents[*higher] == PELT_NONE)
            return -1;
        length += link_length(t, *higher);
        *higher = parents[*higher];
    }
    return links >= MIN_LINKS && length > 0 ? length : -1;
}

static bool is_far(const toucher *t, uint32_t v, uint32_t next, uint32_t *pair) {
    const px_bind_wave *wave = t->wave;
    uint32_t a = wave->segments[wave->owners[v]].target, b = wave->segments[wave->owners[next]].target;
    if (a == b)
        return false;
    *pair = (a < b ? a : b) * t->subject->target_count + (a < b ? b : a);
    float *way = &t->ways[*pair];
    if (*way == 0)
        *way = measure_way(t, a, b);
    return *way > MIN_DETOUR_RATIO * (wave->distances[v] + wave->distances[next]);
}

static void count_voxels(toucher *t, pelt_bind_report *report) {
    const px_bind_wave *wave = t->wave;
    for (uint32_t v = 0; v < wave->volume->voxels.count; v++) {
        bool touches = false;
        for (int k = 0; k < 6 && wave->owners[v] != PELT_NONE; k++) {
            uint32_t next = wave->volume->neighbours[v][k], pair;
            if (next == PELT_NONE || wave->owners[next] == PELT_NONE || wave->owners[next] == wave->owners[v] ||
                !is_far(t, v, next, &pair))
                continue;
            touches = true;
            t->counts[pair] += v < next;
            px_buffer_add(&t->contacts, &(px_bind_contact){v, pair}, sizeof(px_bind_contact));
            if (t->neighbours) /* v's neighbour is handled in its own iteration */
                t->neighbours[v][k] = PELT_NONE;
        }
        report->touching_count += touches;
    }
}

static int compare_pairs(const void *a, const void *b) {
    const pelt_bind_touch *x = a, *y = b;
    if (x->face_count != y->face_count)
        return x->face_count > y->face_count ? -1 : 1;
    if (x->joints[0] != y->joints[0])
        return x->joints[0] < y->joints[0] ? -1 : 1;
    return x->joints[1] < y->joints[1] ? -1 : x->joints[1] > y->joints[1];
}

#define MIN_REFINEMENT 0.8 /* cells of the separating resolution / present ones, at most: the limbs touch now */

/* Cells along the longest side of the mesh that are small enough for a gap; 0: none. */
static uint32_t separating(const toucher *t, const px_bind_gap *gap) {
    const px_bind_subject *s = t->subject;
    float low[3], high[3], longest = 0;
    px_box(s->positions, s->classes.count, low, high);
    for (int c = 0; c < 3; c++)
        longest = px_fmaxf(longest, high[c] - low[c]);
    double cells = ceil((double)longest / px_fmin(gap->cell, MIN_REFINEMENT * t->wave->volume->fine.cell[0]));
    return isfinite(gap->cell) && cells <= PX_GRID_MAX - 2 ? (uint32_t)cells : 0;
}

static pelt_result list_pairs(px_arena *arena, const toucher *t, size_t pairs, const px_bind_gap *gaps,
                              pelt_bind_report *report) {
    const px_bind_subject *s = t->subject;
    uint32_t count = 0;
    for (size_t p = 0; p < pairs; p++)
        count += t->counts[p] > 0;
    pelt_bind_touch *list = PX_NEW(arena, pelt_bind_touch, count);
    if (!list)
        return PELT_ERROR_MEMORY;
    report->touching = list;
    for (size_t p = 0; p < pairs; p++)
        if (t->counts[p])
            list[report->touching_pair_count++] =
                (pelt_bind_touch){{s->targets[p / s->target_count], s->targets[p % s->target_count]},
                                  t->counts[p],
                                  isfinite(gaps[p].distance) ? gaps[p].distance : 0,
                                  separating(t, &gaps[p])};
    px_sort(list, count, sizeof *list, compare_pairs);
    for (int n = 0; n < 2 && count; n++)
        report->touching_joints[n] = list[0].joints[n];
    return PELT_OK;
}

static pelt_result find_touching(px_arena *arena, toucher *t, size_t pairs, pelt_bind_report *report) {
    pelt_context *context = t->wave->context;
    px_bind_gap *gaps = PX_ALLOC(context, px_bind_gap, pairs);
    t->ways = PX_ALLOC(context, float, pairs);
    t->counts = PX_ALLOC(context, uint32_t, pairs);
    pelt_result result = t->ways && t->counts && gaps ? PELT_OK : PELT_ERROR_MEMORY;
    for (size_t p = 0; p < pairs && result == PELT_OK; p++)
        gaps[p] = (px_bind_gap){INFINITY, INFINITY};
    if (result == PELT_OK)
        count_voxels(t, report);
    if (result == PELT_OK && t->contacts.failed)
        result = PELT_ERROR_MEMORY;
    if (result == PELT_OK && t->contacts.size)
        result = px_bind_gaps(context, t->subject, t->wave->volume, (px_bind_contact *)(void *)t->contacts.data,
                              t->contacts.size / sizeof(px_bind_contact), gaps);
    if (result == PELT_OK)
        result = list_pairs(arena, t, pairs, gaps, report);
    px_free(context, gaps);
    return result;
}

pelt_result px_bind_touching(px_arena *arena, const px_bind_subject *subject, const px_bind_bones *bones,
                             const px_bind_wave *wave, uint32_t (*neighbours)[6], pelt_bind_report *report) {
    size_t pairs = px_mul_size(subject->target_count, subject->target_count);
    toucher t = {.subject = subject,
                 .bones = bones,
                 .wave = wave,
                 .contacts = {.context = wave->context},
                 .neighbours = neighbours};
    report->touching_count = report->touching_pair_count = 0;
    report->touching_joints[0] = report->touching_joints[1] = PELT_NONE;
    if (pairs > UINT32_MAX)
        return PELT_OK;
    pelt_result result = find_touching(arena, &t, pairs, report);
    px_free(wave->context, t.ways);
    px_free(wave->context, t.counts);
    px_buffer_free(&t.contacts);
    return result;
}
