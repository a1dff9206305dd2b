/* Prepared skins: every vertex appears once, and results equal those of the unprepared skin, with every kernel and
 * layout. */
#include "support.h"

#include "core/core.h"
#include "core/math3.h"

#include <math.h>

#define BONES     23u
#define TOLERANCE 2e-6

/* ---- Models and poses --------------------------------------------------------------------------------------- */

static void random_unit(test_random *random, float *out) {
    double length2, v[3];
    do {
        length2 = 0;
        for (int c = 0; c < 3; c++) {
            v[c] = test_random_real(random, -1, 1);
            length2 += v[c] * v[c];
        }
    } while (length2 < 0.01 || length2 > 1);
    for (int c = 0; c < 3; c++)
        out[c] = (float)(v[c] / sqrt(length2));
}

/* Weights of up to `most` bones, largest first. Most vertices use one of a few sets of bones, so that groups of all
 * sizes occur; every 16th has arbitrary bones. */
static void random_influences(test_random *random, uint32_t most, uint16_t *bones, float *weights) {
    uint32_t count = 1 + test_random_below(random, most);
    uint32_t first =
        test_random_below(random, 16) ? test_random_below(random, 4) * 5 : test_random_below(random, BONES);
    double w[PELT_MAX_INFLUENCES], sum = 0;
    for (uint32_t k = 0; k < count; k++)
        sum += w[k] = pow(0.6, k) * test_random_real(random, 0.9, 1);
    for (uint32_t k = 0; k < count; k++) {
        bones[k] = (uint16_t)((first + (k + test_random_below(random, 2) * count) % (2 * count)) % BONES);
        weights[k] = (float)(w[k] / sum);
    }
    for (uint32_t k = 0; k < count; k++) /* no bone twice */
        for (uint32_t l = 0; l < k; l++)
            if (bones[k] == bones[l])
                bones[k] = (uint16_t)((bones[k] + 1) % BONES), l = (uint32_t)-1;
}

static pelt_result make_model(pelt_context *context, uint32_t count, uint32_t influences, pelt_model **out) {
    test_random random = {count + influences};
    PX_TRY(pelt_model_create(context, out));
    pelt_mesh *mesh = &(*out)->mesh;
    pelt_skin *skin = &(*out)->skin;
    mesh->vertex_count = mesh->points.count = count;
    mesh->positions = pelt_model_alloc(context, *out, count, 3 * sizeof(float));
    mesh->normals = pelt_model_alloc(context, *out, count, 3 * sizeof(float));
    mesh->tangents = pelt_model_alloc(context, *out, count, 4 * sizeof(float));
    skin->bone_count = BONES;
    skin->influence_count = influences;
    skin->bones = pelt_model_alloc(context, *out, (size_t)count * influences, sizeof(uint16_t));
    skin->weights = pelt_model_alloc(context, *out, (size_t)count * influences, sizeof(float));
    if (!mesh->positions || !mesh->normals || !mesh->tangents || !skin->bones || !skin->weights)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        for (int c = 0; c < 3; c++)
            mesh->positions[3 * i + c] = (float)test_random_real(&random, -1, 1);
        random_unit(&random, mesh->normals + 3 * i);
        random_unit(&random, mesh->tangents + 4 * i);
        mesh->tangents[4 * i + 3] = i % 2 ? 1.0f : -1.0f;
        random_influences(&random, influences, skin->bones + i * influences, skin->weights + i * influences);
    }
    return PELT_OK;
}

typedef struct bones_pose {
    pelt_affine palette[BONES], stretches[BONES];
    pelt_dual_quaternion duals[BONES];
} bones_pose;

/* Scales from 1 / stretch to stretch; a stretch of 1 is rigid. Every fourth bone is always rigid. */
static void random_pose(uint64_t seed, double stretch, bones_pose *out) {
    test_random random = {seed};
    for (uint32_t j = 0; j < BONES; j++) {
        pelt_transform t;
        float axis[3];
        random_unit(&random, axis);
        double angle = test_random_real(&random, -0.5, 0.5);
        for (int c = 0; c < 3; c++) {
            t.rotation[c] = (float)(sin(angle) * axis[c]);
            t.translation[c] = (float)test_random_real(&random, -1, 1);
            t.scale[c] = j % 4 ? (float)pow(stretch, test_random_real(&random, -1, 1)) : 1;
        }
        t.rotation[3] = (float)cos(angle);
        out->palette[j] = px_affine_from_transform(&t);
    }
    pelt_dual_quaternions(out->palette, BONES, out->duals);
    assert_int_equal(pelt_stretches(out->palette, out->duals, BONES, out->stretches), stretch > 1);
    for (uint32_t j = 0; j < BONES; j += 3) /* the same motion, written the other way */
        for (int e = 0; e < 8; e++)
            out->duals[j].q[e] = -out->duals[j].q[e];
}

/* The three arrays of a result, in one block so that sanitizers detect overruns. */
typedef struct arrays {
    size_t count;
    float *positions, *normals, *tangents;
} arrays;

static arrays make_arrays(size_t count) {
    float *p = malloc(count * 3 * sizeof *p), *n = malloc(count * 3 * sizeof *n), *t = malloc(count * 4 * sizeof *t);
    assert_true(p && n && t);
    memset(p, 0xA5, count * 3 * sizeof *p);
    memset(n, 0xA5, count * 3 * sizeof *n);
    memset(t, 0xA5, count * 4 * sizeof *t);
    return (arrays){count, p, n, t};
}

static void drop_arrays(arrays *r) {
    free(r->positions);
    free(r->normals);
    free(r->tangents);
}

static void assert_same(const arrays *a, const arrays *b) {
    assert_memory_equal(a->positions, b->positions, a->count * 3 * sizeof(float));
    assert_memory_equal(a->normals, b->normals, a->count * 3 * sizeof(float));
    assert_memory_equal(a->tangents, b->tangents, a->count * 4 * sizeof(float));
}

static pelt_prepared_job make_job(const pelt_prepared_skin *prepared, const bones_pose *pose, pelt_skinning skinning,
                                  bool stretched, const arrays *out) {
    return (pelt_prepared_job){
        .prepared = prepared,
        .group_count = PELT_NONE,
        .skinning = skinning,
        .palette = pose->palette,
        .dual_quaternions = pose->duals,
        .stretches = stretched ? pose->stretches : NULL,
        .out_positions = out->positions,
        .out_normals = out->normals,
        .out_tangents = out->tangents,
    };
}

/* The result of the unprepared skin. */
static void run_plain(const pelt_model *model, const bones_pose *pose, pelt_skinning skinning, bool stretched,
                      const arrays *out) {
    pelt_skin_job job = {
        .vertex_count = model->mesh.vertex_count,
        .influence_count = model->skin.influence_count,
        .bones = model->skin.bones,
        .weights = model->skin.weights,
        .palette = pose->palette,
        .dual_quaternions = pose->duals,
        .stretches = stretched ? pose->stretches : NULL,
        .skinning = skinning,
        .positions = model->mesh.positions,
        .normals = model->mesh.normals,
        .tangents = model->mesh.tangents,
        .out_positions = out->positions,
        .out_normals = out->normals,
        .out_tangents = out->tangents,
    };
    pelt_skin_run(&job);
}

static void assert_near(const float *a, const float *b, size_t count, double tolerance) {
    for (size_t e = 0; e < count; e++)
        if (!(fabs((double)a[e] - (double)b[e]) <= tolerance))
            fail_msg("element %zu: %.9g, not %.9g", e, (double)a[e], (double)b[e]);
}

/* ---- The order ---------------------------------------------------------------------------------------------- */

static void every_vertex_has_one_place(void **state) {
    (void)state;
    static const uint32_t counts[] = {1, 15, 16, 17, 500, 5000};
    for (uint32_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
        for (uint32_t influences = 1; influences <= PELT_MAX_INFLUENCES; influences += 7) {
            test_context test;
            pelt_model *model;
            pelt_prepared_skin p;
            test_begin(&test, 1);
            test_ok(&test, make_model(test.context, counts[c], influences, &model));
            test_ok(&test, pelt_skin_prepare(test.context, model, &p));
            uint32_t place = 0, shared = 0, before = 0;
            for (uint32_t g = 0; g < p.group_count; g++) {
                const pelt_prepared_group *group = &p.groups[g];
                assert_int_equal(group->first_place, place);
                assert_in_range(group->vertex_count, group->shared ? PELT_PREPARED_BLOCK : 1, PELT_PREPARED_GROUP);
                assert_in_range(group->influence_count, 1, px_max_size(influences, 6)); /* 6: unions of bones */
                /* shared groups of full blocks, other shared groups, loose ones; in each, fewest influences first */
                uint32_t kind = !group->shared ? 2 : group->vertex_count % PELT_PREPARED_BLOCK != 0;
                assert_true(100 * kind + group->influence_count >= before);
                assert_true(kind > 0 || group->first_place % PELT_PREPARED_BLOCK == 0);
                before = 100 * kind + group->influence_count;
                shared += group->shared ? group->vertex_count : 0;
                place += group->vertex_count;
            }
            assert_int_equal(place, counts[c]);
            for (uint32_t g = 0; g < p.group_count; g++) {
                const pelt_prepared_block *first = &p.blocks[p.groups[g].first_block];
                const pelt_prepared_block *last = first + (p.groups[g].vertex_count - 1) / PELT_PREPARED_BLOCK;
                uint32_t end = p.groups[g].first_place + p.groups[g].vertex_count;
                assert_true(first->group == g && last->group == g && first->place == p.groups[g].first_place);
                assert_true(!p.groups[g].shared || last->place + PELT_PREPARED_BLOCK == end);
            }
            assert_int_equal(shared, p.shared_count);
            assert_true(counts[c] < 500 || influences > 1 || shared > counts[c] / 2);
            for (uint32_t i = 0; i < counts[c]; i++) {
                assert_true(p.order[i] < counts[c]);
                assert_int_equal(p.places[p.order[i]], i);
            }
            pelt_model_destroy(model);
            test_end(&test);
        }
}

/* Vertices whose bones too few others share form a group by the union of their bones, with weight 0 where they have none;
 * at most six bones. */
static void few_vertices_share_a_union(void **state) {
    (void)state;
    static const uint16_t sets[4][2] = {{0, 1}, {1, 2}, {2, 0}, {9, 10}};
    test_context test;
    pelt_model *model;
    pelt_prepared_skin p;
    test_begin(&test, 1);
    test_ok(&test, make_model(test.context, 20, 2, &model));
    for (uint32_t i = 0; i < 20; i++) /* 6, 6, 4 and 4 vertices */
        memcpy(model->skin.bones + 2 * i, sets[i < 12 ? i / 6 : 2 + (i >= 16)], sizeof sets[0]);
    for (uint32_t e = 0; e < 40; e++)
        model->skin.weights[e] = e % 2 ? 0.25f : 0.75f;
    test_ok(&test, pelt_skin_prepare(test.context, model, &p));
    assert_int_equal(p.group_count, 2);
    assert_true(p.groups[0].shared && !p.groups[1].shared);
    assert_int_equal(p.groups[0].vertex_count, 16);
    assert_int_equal(p.groups[0].influence_count, 3);
    assert_int_equal(p.groups[1].influence_count, 2);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Results ------------------------------------------------------------------------------------------------ */

/* Compared in mesh order. Terms are of size 1; a blend adds up to 8 of them and the translation. */
static void prepared_is_unprepared(void **state) {
    (void)state;
    for (uint32_t influences = 1; influences <= PELT_MAX_INFLUENCES; influences++) {
        test_context test;
        pelt_model *model;
        pelt_prepared_skin prepared;
        test_begin(&test, 1);
        test_ok(&test, make_model(test.context, 1500, influences, &model));
        test_ok(&test, pelt_skin_prepare(test.context, model, &prepared));
        arrays want = make_arrays(1500), got = make_arrays(1500);
        for (int c = 0; c < 5; c++) { /* linear, rigid and not; dual quaternions, rigid, stretched and not */
            bones_pose pose;
            random_pose(influences, c % 2 ? 1.5 : 1, &pose);
            pelt_skinning skinning = c < 2 ? PELT_SKINNING_LINEAR : PELT_SKINNING_DUAL_QUATERNION;
            pelt_prepared_job job = make_job(&prepared, &pose, skinning, c > 2, &got);
            job.mesh_order = true;
            run_plain(model, &pose, skinning, c > 2, &want);
            pelt_prepared_run(&job);
            assert_near(got.positions, want.positions, 3 * 1500, TOLERANCE);
            assert_near(got.normals, want.normals, 3 * 1500, TOLERANCE);
            assert_near(got.tangents, want.tangents, 4 * 1500, TOLERANCE);
        }
        drop_arrays(&want);
        drop_arrays(&got);
        pelt_model_destroy(model);
        test_end(&test);
    }
}

static void bodies_agree(void **state) {
    (void)state;
    test_context test;
    pelt_model *model;
    pelt_prepared_skin prepared;
    test_begin(&test, 1);
    test_ok(&test, make_model(test.context, 3001, 8, &model));
    for (size_t e = 0; e < 300; e++) /* zero normals, at rest or posed */
        model->mesh.normals[e] = 0;
    test_ok(&test, pelt_skin_prepare(test.context, model, &prepared));
    arrays want = make_arrays(3001), got = make_arrays(3001);
    for (int c = 0; c < 4; c++) { /* linear, linear and flat, dual quaternions without and with scale */
        bones_pose pose;
        random_pose(7, 1.5, &pose);
        for (int e = 0; c == 1 && e < 4; e++)
            for (uint32_t j = 0; j < BONES; j += 2)
                pose.palette[j].m[e] = 0, pose.palette[j + (j + 1 < BONES)].m[4 + e] = 0;
        pelt_prepared_job job =
            make_job(&prepared, &pose, c < 2 ? PELT_SKINNING_LINEAR : PELT_SKINNING_DUAL_QUATERNION, c == 3, &want);
        job.exact = true;
        pelt_prepared_run_simd(&job, PELT_SIMD_SCALAR);
        for (size_t e = 0; e < 3 * 3001; e++)
            assert_true(isfinite(want.positions[e]) && isfinite(want.normals[e]) && isfinite(want.tangents[e]));
        job.out_positions = got.positions, job.out_normals = got.normals, job.out_tangents = got.tangents;
        for (pelt_simd simd = PELT_SIMD_SSE2; simd < PELT_SIMD_COUNT; simd++)
            if (pelt_simd_available(simd)) {
                memset(got.positions, 0xA5, 3 * 3001 * sizeof(float));
                pelt_prepared_run_simd(&job, simd);
                assert_same(&want, &got);
            }
    }
    drop_arrays(&want);
    drop_arrays(&got);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Layouts and ranges ------------------------------------------------------------------------------------- */

/* Interleaved with padding, and back in mesh order: the same bits at other positions, and the padding is not
 * written. */
static void layouts_hold_the_same(void **state) {
    (void)state;
    enum { COUNT = 777, WIDTH = 13 };
    test_context test;
    pelt_model *model;
    pelt_prepared_skin prepared;
    bones_pose pose;
    random_pose(3, 1.2, &pose);
    test_begin(&test, 1);
    test_ok(&test, make_model(test.context, COUNT, 4, &model));
    test_ok(&test, pelt_skin_prepare(test.context, model, &prepared));
    arrays want = make_arrays(COUNT);
    pelt_prepared_job job = make_job(&prepared, &pose, PELT_SKINNING_LINEAR, false, &want);
    pelt_prepared_run(&job);
    for (int mesh_order = 0; mesh_order < 2; mesh_order++) {
        static float rows[COUNT][WIDTH];
        for (size_t place = 0; place < COUNT; place++)
            for (size_t e = 0; e < WIDTH; e++)
                rows[place][e] = 99;
        job.mesh_order = mesh_order;
        job.stride = sizeof rows[0];
        job.out_positions = rows[0], job.out_normals = rows[0] + 4, job.out_tangents = rows[0] + 8;
        pelt_prepared_run(&job);
        for (uint32_t place = 0; place < COUNT; place++) {
            const float *row = rows[mesh_order ? prepared.order[place] : place];
            assert_memory_equal(row, want.positions + 3 * (size_t)place, 3 * sizeof(float));
            assert_memory_equal(row + 4, want.normals + 3 * (size_t)place, 3 * sizeof(float));
            assert_memory_equal(row + 8, want.tangents + 4 * (size_t)place, 4 * sizeof(float));
            assert_true(row[3] == 99 && row[7] == 99 && row[12] == 99);
        }
    }
    drop_arrays(&want);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Group by group and on threads: the same bits; a range writes only its own positions. No run allocates. */
static void ranges_and_threads_change_nothing(void **state) {
    (void)state;
    bones_pose pose;
    random_pose(9, 1.2, &pose);
    for (uint32_t threads = 1; threads <= 3; threads++) {
        test_context test;
        pelt_model *model;
        pelt_prepared_skin prepared;
        test_begin(&test, threads);
        test_ok(&test, make_model(test.context, 9000, 3, &model));
        test_ok(&test, pelt_skin_prepare(test.context, model, &prepared));
        arrays want = make_arrays(9000), got = make_arrays(9000);
        pelt_prepared_job job = make_job(&prepared, &pose, PELT_SKINNING_LINEAR, false, &want);
        test_ok(&test, pelt_prepared_run_threads(test.context, &job)); /* the threads are created once */
        uint64_t allocations = pelt_context_memory(test.context).count;
        memset(want.positions, 0, 9000 * 3 * sizeof(float));
        pelt_prepared_run(&job);
        job.out_positions = got.positions, job.out_normals = got.normals, job.out_tangents = got.tangents;
        job.group_count = 1;
        for (job.first_group = 0; job.first_group < prepared.group_count; job.first_group++) {
            size_t end =
                (size_t)prepared.groups[job.first_group].first_place + prepared.groups[job.first_group].vertex_count;
            uint32_t before = end < 9000 ? px_float_bits(got.positions[3 * end]) : 0;
            pelt_prepared_run(&job);
            assert_true(end == 9000 || px_float_bits(got.positions[3 * end]) == before);
        }
        assert_same(&want, &got);
        memset(got.positions, 0, 9000 * 3 * sizeof(float));
        job.first_group = 0, job.group_count = PELT_NONE;
        test_ok(&test, pelt_prepared_run_threads(test.context, &job));
        assert_same(&want, &got);
        assert_int_equal(pelt_context_memory(test.context).count, allocations);
        drop_arrays(&want);
        drop_arrays(&got);
        pelt_model_destroy(model);
        test_end(&test);
    }
}

/* ---- Morphs ------------------------------------------------------------------------------------------------- */

#define MORPHS 6u

/* Morphs of ranges of vertices, of which every third moves; the last two without normals. */
static void add_morphs(test_context *test, pelt_model *model) {
    test_random random = {11};
    uint32_t count = model->mesh.vertex_count;
    model->morphs = (pelt_morph_set){MORPHS, pelt_model_alloc(test->context, model, MORPHS, sizeof(pelt_morph))};
    assert_non_null(model->morphs.morphs);
    for (uint32_t m = 0; m < MORPHS; m++) {
        uint32_t first = m * count / 10, n = count / 3;
        float *deltas = pelt_model_alloc(test->context, model, n, 3 * sizeof *deltas);
        assert_non_null(deltas);
        for (size_t e = 0; e < 3 * (size_t)n; e++)
            deltas[e] = e / 3 % 3 ? 0 : (float)test_random_real(&random, -0.3, 0.3);
        model->morphs.morphs[m] = (pelt_morph){.name = "",
                                               .index = m,
                                               .first_vertex = first,
                                               .vertex_count = n,
                                               .positions = deltas,
                                               .normals = m < 4 ? deltas : NULL};
    }
}

/* Morphs a stream of `prepared` as its layout says: shared [block][3][16], loose [vertex][3]. */
static float *morphed_stream(const pelt_prepared_skin *prepared, const size_t *offsets, const pelt_packed_delta *deltas,
                             const float *weights, const float *stream) {
    const pelt_prepared_group *last = &prepared->groups[prepared->group_count - 1];
    size_t blocks = last->first_block + (last->vertex_count + 15) / 16;
    float *out = malloc(blocks * 48 * sizeof *out);
    assert_non_null(out);
    memcpy(out, stream, blocks * 48 * sizeof *out);
    for (size_t b = 0; b < blocks; b++)
        for (size_t e = offsets[b]; e < offsets[b + 1]; e++)
            for (size_t lane = 0; lane < 16; lane++)
                for (size_t c = 0; c < 3; c++) {
                    bool shared = prepared->groups[prepared->blocks[b].group].shared;
                    float weight = weights[deltas[e].morph] * deltas[e].scale;
                    float term = weight * (float)deltas[e].values[c][lane];
                    out[48 * b + (shared ? 16 * c + lane : 3 * lane + c)] += term;
                }
    return out;
}

/* Normals that were normalised in both runs have the same bits. Where the run of morphed streams left them as long as they are
 * (rotations of single bones, dual quaternions), they are parallel. */
static void assert_same_normals(const pelt_prepared_skin *p, bool linear, const float *got, const float *want) {
    for (uint32_t place = 0, g = 0; place < p->vertex_count; place++) {
        g += place >= p->groups[g].first_place + p->groups[g].vertex_count;
        const float *a = got + 3 * (size_t)place, *b = want + 3 * (size_t)place;
        double length = sqrt((double)b[0] * b[0] + (double)b[1] * b[1] + (double)b[2] * b[2]);
        if (!p->groups[g].shared || (linear && p->groups[g].influence_count > 1))
            assert_memory_equal(a, b, 3 * sizeof *a);
        else
            for (int c = 0; c < 3; c++)
                assert_true(fabs((double)a[c] - (double)b[c] / length) < 1e-6);
    }
}

/* Morphs inside the pass give the bits of a run of morphed streams; also on threads, and in all kernels. */
static void morphs_in_the_pass_are_morphs_before_it(void **state) {
    (void)state;
    static const float weights[MORPHS] = {0.5f, -1, 0, 2, 0.25f, 1};
    for (uint32_t influences = 1; influences <= PELT_MAX_INFLUENCES; influences += 1 + influences / 4) {
        enum { COUNT = 1501 };
        test_context test;
        pelt_model *model;
        pelt_prepared_skin prepared, before;
        pelt_packed_morphs packed;
        bones_pose pose;
        random_pose(influences, 1.5, &pose);
        test_begin(&test, 2);
        test_ok(&test, make_model(test.context, COUNT, influences, &model));
        add_morphs(&test, model);
        test_ok(&test, pelt_skin_prepare(test.context, model, &prepared));
        test_ok(&test, pelt_morph_pack_prepared(test.context, model, &prepared, &packed));
        assert_true(prepared.shared_count > COUNT / 4 && (influences == 1 || prepared.shared_count < COUNT));
        float *morphed_positions =
            morphed_stream(&prepared, packed.offsets, packed.positions, weights, prepared.positions);
        float *morphed_normals = morphed_stream(&prepared, packed.offsets, packed.normals, weights, prepared.normals);
        before = prepared;
        before.positions = morphed_positions, before.normals = morphed_normals;
        arrays want = make_arrays(COUNT), got = make_arrays(COUNT), threads = make_arrays(COUNT);
        for (int c = 0; c < 6; c++) { /* linear, dual quaternions with and without stretches; exact or not */
            pelt_skinning skinning = c < 2 ? PELT_SKINNING_LINEAR : PELT_SKINNING_DUAL_QUATERNION;
            for (pelt_simd simd = PELT_SIMD_SCALAR; simd < PELT_SIMD_COUNT; simd++) {
                pelt_prepared_job job = make_job(&before, &pose, skinning, c > 3, &want);
                if (!pelt_simd_available(simd))
                    continue;
                job.exact = c % 2;
                pelt_prepared_run_simd(&job, simd);
                job = make_job(&prepared, &pose, skinning, c > 3, &got);
                job.exact = c % 2;
                job.morphs = packed;
                job.morph_weights = weights;
                pelt_prepared_run_simd(&job, simd);
                assert_memory_equal(got.positions, want.positions, 3 * COUNT * sizeof(float));
                assert_memory_equal(got.tangents, want.tangents, 4 * COUNT * sizeof(float));
                assert_same_normals(&prepared, c < 2, got.normals, want.normals);
                if (simd == pelt_simd_best()) {
                    job.out_positions = threads.positions, job.out_normals = threads.normals;
                    job.out_tangents = threads.tangents;
                    test_ok(&test, pelt_prepared_run_threads(test.context, &job));
                    assert_same(&got, &threads);
                }
            }
        }
        free(morphed_positions);
        free(morphed_normals);
        drop_arrays(&want);
        drop_arrays(&got);
        drop_arrays(&threads);
        pelt_model_destroy(model);
        test_end(&test);
    }
}

/* The unprepared skin, morphed first: the same up to rounding and to packing in other blocks. */
static void morphed_is_unprepared(void **state) {
    (void)state;
    enum { COUNT = 1501 };
    static const float weights[MORPHS] = {0.5f, -1, 0, 2, 0.25f, 1};
    test_context test;
    pelt_model *model;
    pelt_prepared_skin prepared;
    pelt_packed_morphs packed;
    bones_pose pose;
    random_pose(2, 1.5, &pose);
    test_begin(&test, 1);
    test_ok(&test, make_model(test.context, COUNT, 4, &model));
    add_morphs(&test, model);
    test_ok(&test, pelt_skin_prepare(test.context, model, &prepared));
    test_ok(&test, pelt_morph_pack_prepared(test.context, model, &prepared, &packed));
    arrays want = make_arrays(COUNT), got = make_arrays(COUNT), morphed = make_arrays(COUNT);
    pelt_prepared_job job = make_job(&prepared, &pose, PELT_SKINNING_LINEAR, false, &got);
    job.morphs = packed;
    job.morph_weights = weights;
    job.mesh_order = true;
    pelt_prepared_run(&job);
    pelt_morph_run(&model->mesh, &model->morphs, weights, morphed.positions, morphed.normals, NULL);
    model->mesh.positions = morphed.positions, model->mesh.normals = morphed.normals;
    run_plain(model, &pose, PELT_SKINNING_LINEAR, false, &want);
    /* 4.75 is the sum of weights, 0.3 / 65534 the rounding of a displacement; bones scale by 1.5 at most, normals may get shorter */
    assert_near(got.positions, want.positions, 3 * COUNT, 2 * TOLERANCE + 1.5 * 1.7321 * 4.75 * 0.3 / 65534);
    assert_near(got.normals, want.normals, 3 * COUNT, 1e-3);
    pelt_prepared_skin other = prepared;
    other.vertex_count--;
    test_fails(&test, pelt_morph_pack_prepared(test.context, model, &other, &packed), PELT_ERROR_USAGE,
               "1500 vertices");
    assert_null(packed.offsets);
    drop_arrays(&want);
    drop_arrays(&got);
    drop_arrays(&morphed);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Failing ------------------------------------------------------------------------------------------------ */

static void what_is_not_there_is_not_prepared(void **state) {
    (void)state;
    test_context test;
    pelt_model *model;
    pelt_prepared_skin prepared;
    test_begin(&test, 1);
    test_ok(&test, make_model(test.context, 100, 2, &model));
    model->mesh.normals = model->mesh.tangents = NULL;
    test_ok(&test, pelt_skin_prepare(test.context, model, &prepared));
    assert_true(!prepared.normals && !prepared.tangents);
    model->skin.bone_count = 0;
    test_fails(&test, pelt_skin_prepare(test.context, model, &prepared), PELT_ERROR_USAGE, "no skin");
    assert_int_equal(prepared.vertex_count, 0);
    pelt_model_destroy(model);
    test_end(&test);
}

static pelt_result prepare_once(pelt_context *context, void *user) {
    (void)user;
    pelt_model *model;
    pelt_prepared_skin prepared;
    pelt_result result = make_model(context, 300, 4, &model);
    if (result == PELT_OK)
        result = pelt_skin_prepare(context, model, &prepared);
    if (result == PELT_OK)
        result = pelt_morph_pack_prepared(context, model, &prepared, &(pelt_packed_morphs){0});
    pelt_model_destroy(model);
    return result;
}

static void preparing_survives_lack_of_memory(void **state) {
    (void)state;
    test_fail_each_allocation(1, prepare_once, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_vertex_has_one_place),
        cmocka_unit_test(few_vertices_share_a_union),
        cmocka_unit_test(prepared_is_unprepared),
        cmocka_unit_test(bodies_agree),
        cmocka_unit_test(layouts_hold_the_same),
        cmocka_unit_test(ranges_and_threads_change_nothing),
        cmocka_unit_test(morphs_in_the_pass_are_morphs_before_it),
        cmocka_unit_test(morphed_is_unprepared),
        cmocka_unit_test(what_is_not_there_is_not_prepared),
        cmocka_unit_test(preparing_survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
