/* Skinned normals: the error of each rule against the normals of the posed surface, and the cost of accurate normals.
 *
 * Degrees are the RMS angle between the skinned normals of a rig and those of its own posed triangles, with its hard
 * edges: the error is that of the rule alone. "time" is that of the kernel with accurate normals relative to the same
 * kernel (not prepared) with the cofactor matrix, "bytes" the size of the gradients of a vertex. Animations are
 * decomposed into as many bones as in bench/animations.h; characters play their first motion.
 *
 *   bench_normals [ROUNDS]
 */
#include "animations.h"
#include "characters.h"
#include "skin_bench.h"

#include <pelt/pelt.h>

#include <math.h>

typedef struct row {
    uint32_t vertex_count;
    double degrees[PELT_NORMAL_RULES], bytes, time;
} row;

static void run_job(void *user) {
    pelt_skin_run(user);
}

/* The time of the kernel in the middle of the motion. */
static void measure_time(const pelt_model *model, const pelt_motion *motion, const pelt_weight_gradients *gradients,
                         int rounds, row *out) {
    const pelt_mesh *mesh = &model->mesh;
    pelt_transform *locals = skin_array(model->skeleton.joint_count, sizeof *locals);
    pelt_affine *globals = skin_array(model->skeleton.joint_count, sizeof *globals);
    pelt_affine *palette = skin_array(model->skin.bone_count, sizeof *palette);
    float *positions = skin_array(3 * (size_t)mesh->vertex_count, sizeof *positions);
    float *normals = skin_array(3 * (size_t)mesh->vertex_count, sizeof *normals);
    pelt_motion_sample(model, motion, motion ? (motion->start + motion->end) / 2 : 0, locals, NULL);
    pelt_skeleton_globals(&model->skeleton, locals, globals);
    pelt_skin_palette(&model->skin, globals, palette);
    pelt_skin_job jobs[2];
    jobs[0] = (pelt_skin_job){.vertex_count = mesh->vertex_count,
                              .influence_count = model->skin.influence_count,
                              .bones = model->skin.bones,
                              .weights = model->skin.weights,
                              .palette = palette,
                              .positions = mesh->positions,
                              .normals = mesh->normals,
                              .out_positions = positions,
                              .out_normals = normals};
    jobs[1] = jobs[0];
    jobs[1].gradients = *gradients;
    skin_step steps[] = {{run_job, &jobs[0], 0}, {run_job, &jobs[1], 0}};
    skin_time(steps, 2, rounds);
    out->time = steps[1].seconds / steps[0].seconds;
    out->bytes = 8.0 * gradients->offsets[mesh->vertex_count] / mesh->vertex_count + 8;
    void *arrays[] = {locals, globals, palette, positions, normals};
    for (size_t a = 0; a < sizeof arrays / sizeof arrays[0]; a++)
        free(arrays[a]);
}

static pelt_result measure(pelt_context *context, pelt_model *model, int rounds, row *out) {
    const pelt_motion *motion = model->motion_count ? &model->motions[0] : NULL;
    pelt_clip plain = {0}, skinned;
    pelt_difference d;
    pelt_weight_gradients gradients = {0};
    pelt_result result = pelt_model_weld(context, model);
    pelt_mesh *mesh = &model->mesh; /* with the normals of its triangles */
    float *normals = pelt_model_alloc(context, model, 3 * (size_t)mesh->vertex_count, sizeof *normals);
    if (result == PELT_OK)
        result = normals ? pelt_mesh_edged_normals(context, mesh, NULL, normals) : PELT_ERROR_MEMORY;
    mesh->normals = normals;
    if (result == PELT_OK)
        result = pelt_clip_from_motion(context, model, motion, 15, PELT_SKINNING_LINEAR, &plain);
    skinned = plain;
    if (result == PELT_OK)
        result = pelt_clip_skin_normals(context, model, &skinned);
    if (result == PELT_OK)
        result = pelt_compare_clips(context, &plain, &skinned, mesh, &d, NULL);
    if (result == PELT_OK)
        result = pelt_skin_gradients(context, model, &gradients);
    if (result != PELT_OK)
        return result;
    *out = (row){.vertex_count = mesh->vertex_count,
                 .degrees = {d.skinned_normal_degrees, d.inverse_normal_degrees, d.accurate_normal_degrees}};
    measure_time(model, motion, &gradients, rounds, out);
    return PELT_OK;
}

static void print_row(const char *name, const row *r) {
    printf("| %s | %u | %.2f | %.2f | %.2f | %.0f | %.2f |\n", name, r->vertex_count, r->degrees[PELT_NORMALS_MATRIX],
           r->degrees[PELT_NORMALS_INVERSE], r->degrees[PELT_NORMALS_ACCURATE], r->bytes, r->time);
    fflush(stdout);
}

static void print_animation(pelt_context *context, const animation *a, int rounds) {
    pelt_model *model = NULL;
    row r;
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.bones = a->bone_count;
    pelt_result result = animation_open(context, a, &model);
    if (result == PELT_OK)
        result = pelt_decompose(context, model, &desc, NULL);
    if (result == PELT_OK)
        result = measure(context, model, rounds, &r);
    if (result == PELT_OK)
        print_row(a->name, &r);
    else
        printf("%s: %s\n", a->name, pelt_error_text(context));
    pelt_model_destroy(model);
}

/* RMS of degrees, geometric mean of times. */
static void print_characters(pelt_context *context, int rounds) {
    character_list list = characters_find(NULL);
    row sum = {0};
    double logs = 0;
    uint32_t count = 0, better = 0;
    for (size_t c = 0; c < list.count; c++) {
        pelt_model *model = NULL;
        const char *reason = NULL;
        row r;
        if (character_load(context, &list.items[c], &model, &reason) == PELT_OK && !reason && model->motion_count &&
            measure(context, model, rounds, &r) == PELT_OK) {
            count++;
            sum.vertex_count += r.vertex_count;
            sum.bytes += r.bytes;
            logs += log(r.time);
            better += r.degrees[PELT_NORMALS_ACCURATE] < r.degrees[PELT_NORMALS_INVERSE];
            for (int rule = 0; rule < PELT_NORMAL_RULES; rule++)
                sum.degrees[rule] += r.degrees[rule] * r.degrees[rule];
        }
        pelt_model_destroy(model);
    }
    characters_free(&list);
    if (!count)
        return;
    for (int rule = 0; rule < PELT_NORMAL_RULES; rule++)
        sum.degrees[rule] = sqrt(sum.degrees[rule] / count);
    sum.vertex_count /= count, sum.bytes /= count, sum.time = exp(logs / count);
    char name[80];
    snprintf(name, sizeof name, "%u characters (accurate is better in %u)", count, better);
    print_row(name, &sum);
}

int main(int argc, char **argv) {
    long rounds = argc > 1 ? atol(argv[1]) : 11;
    if (rounds < 1 || rounds > 1000) {
        fprintf(stderr, "usage: bench_normals [ROUNDS]; at most 1000 rounds\n");
        return 1;
    }
    pelt_context *context;
    if (pelt_context_create(NULL, &context) != PELT_OK)
        return 1;
    printf(
        "| rig | vertices | matrix | inverse transpose | accurate | bytes | time × |\n|---|---|---|---|---|---|---|\n");
    for (size_t a = 0; a < ANIMATION_COUNT; a++)
        if (animation_wanted(&animations[a], NULL))
            print_animation(context, &animations[a], (int)rounds);
    print_characters(context, (int)rounds);
    pelt_context_destroy(context);
    return 0;
}
