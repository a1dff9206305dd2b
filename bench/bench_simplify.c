/* Simplification to an eighth, measured over all frames: the gain by using poses and by moving vertices, beside
 * libmeshoptimizer, which sees the rest pose alone. Every row has as many triangles as that gives. Prints the table of
 * docs/simplify.md: RMS and largest distance between the surfaces, two-sided, in thousandths of the ball's diameter.
 *
 *   bench_simplify [NAME] [RATIO]     only rows whose name begins like this; another part than 0.125
 */
#include "animations.h"

#include <meshoptimizer.h>

#include <time.h>

#define FPS         30
#define FRAMES_MOST 48u
#define SAMPLES     2000u
#define HORSE_BONES 30u

typedef struct subject {
    const char *name;
    const char *animation; /* of animations[], or NULL */
    const char *file;      /* below the data, or NULL */
    const char *scene;     /* or NULL */
    uint32_t vertex_count; /* of the scene */
    uint32_t bones;        /* number of bones the animation is decomposed to; 0: it stays frames */
} subject;

static const subject subjects[] = {
    {"horse", "horse-gallop", NULL, NULL, 0, 0},
    {"horse rig", "horse-gallop", NULL, NULL, 0, HORSE_BONES},
    {"cow", "elastic-cow", NULL, NULL, 0, 0},
    {"game horse", NULL, "char-mesh2motion/animations/horse-animations.glb", NULL, 0, 0},
    {"creature", NULL, NULL, "creature", 20000, 0},
};

/* A variant of a row: the settings of pelt_simplify. */
typedef struct variant {
    const char *name;
    uint32_t poses;
    bool keep_positions;
} variant;

static const variant variants[] = {
    {"rest pose, kept", 1, true},
    {"poses, kept", 16, true},
    {"rest pose, moved", 1, false},
    {"poses, moved", 16, false},
};
#define VARIANT_COUNT (sizeof variants / sizeof variants[0])

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static pelt_result open_subject(pelt_context *context, const subject *s, pelt_model **model) {
    if (s->scene) {
        scene_desc desc = {.vertex_count = s->vertex_count, .seed = 1};
        return scene_find(s->scene)->make(context, &desc, model);
    }
    char path[1024];
    if (s->file) {
        const char *folder = getenv("PELT_DATA"), *paths[1] = {path};
        snprintf(path, sizeof path, "%s/%s", folder ? folder : "../shared/data", s->file);
        return pelt_load(context, paths, 1, NULL, model);
    }
    const animation *a = animations;
    while (strcmp(a->name, s->animation) != 0)
        a++;
    pelt_result result = animation_open(context, a, model);
    pelt_decompose_desc bones = pelt_decompose_desc_default();
    bones.bones = s->bones;
    bones.iterations = 5;
    if (result == PELT_OK && s->bones)
        result = pelt_decompose(context, *model, &bones, NULL);
    return result;
}

/* The model's frames: those of its motions or its clip, limited in number. */
static pelt_result frames_of(pelt_context *context, pelt_model *model, pelt_clip *clip) {
    if (!model->skin.bone_count && model->clip_count) {
        *clip = model->clips[0];
        return PELT_OK;
    }
    const pelt_motion *motion = model->motion_count ? model->motions : NULL;
    double length = motion ? (double)(motion->end - motion->start) : 0, fps = FPS;
    if (length * fps > FRAMES_MOST)
        fps = FRAMES_MOST / length;
    return pelt_clip_from_motion(context, model, motion, fps, PELT_SKINNING_LINEAR, clip);
}

/* The rest pose for meshoptimizer, with welded vertices identified by their positions. */
static uint32_t simplify_rest(const pelt_mesh *mesh, double ratio, uint32_t *out) {
    size_t count = 3 * (size_t)mesh->triangle_count, wanted = 3 * (size_t)(ratio * mesh->triangle_count + 0.5);
    float error;
    count = meshopt_simplify(out, mesh->triangles, count, mesh->positions, mesh->vertex_count, 3 * sizeof(float),
                             wanted, 1e9f, 0, &error);
    return (uint32_t)(count / 3);
}

static void print_row(const char *name, const char *method, uint32_t triangles, const pelt_surface_difference *d,
                      const pelt_surface_difference *base, double seconds) {
    printf("| %s | %s | %u | %.3f | %+.1f %% | %.2f | %+.1f %% | %.2f |\n", name, method, triangles,
           1000 * d->error_rms, 100 * (d->error_rms / base->error_rms - 1), 1000 * d->error_max,
           100 * (d->error_max / base->error_max - 1), seconds);
}

static pelt_result run_variant(pelt_context *context, pelt_model *model, const pelt_clip *clip, const subject *s,
                               const variant *v, uint32_t wanted, const pelt_surface_difference *base) {
    pelt_simplify_desc desc = pelt_simplify_desc_default();
    desc.poses = v->poses;
    desc.keep_positions = v->keep_positions;
    double start = cpu_seconds(), ratio = (double)wanted / model->mesh.triangle_count;
    pelt_model *level;
    pelt_result result = pelt_simplify_levels(context, model, &desc, &ratio, 1, &level, NULL);
    double seconds = cpu_seconds() - start;
    pelt_clip frames;
    pelt_surface_difference d;
    if (result == PELT_OK && !level->skin.bone_count && level->clip_count)
        frames = level->clips[0];
    else if (result == PELT_OK)
        result = pelt_clip_from_motion_at(context, level, level->motion_count ? level->motions : NULL, clip->times,
                                          clip->frame_count, PELT_SKINNING_LINEAR, &frames);
    if (result == PELT_OK)
        result = pelt_compare_surfaces(context, &model->mesh, clip, &level->mesh, &frames, SAMPLES, &d);
    if (result == PELT_OK)
        print_row(s->name, v->name, level->mesh.triangle_count, &d, base, seconds);
    pelt_model_destroy(level);
    return result;
}

static pelt_result run(pelt_context *context, const subject *s, double ratio, pelt_model *model) {
    pelt_clip clip;
    pelt_surface_difference base;
    pelt_result result = frames_of(context, model, &clip);
    uint32_t *triangles = pelt_model_alloc(context, model, 3 * (size_t)model->mesh.triangle_count, sizeof *triangles);
    if (result != PELT_OK || !triangles)
        return result;
    double start = cpu_seconds();
    pelt_mesh rest = model->mesh;
    rest.triangles = triangles;
    rest.triangle_count = simplify_rest(&model->mesh, ratio, triangles);
    double seconds = cpu_seconds() - start;
    result = pelt_compare_surfaces(context, &model->mesh, &clip, &rest, &clip, SAMPLES, &base);
    if (result == PELT_OK)
        print_row(s->name, "meshoptimizer", rest.triangle_count, &base, &base, seconds);
    for (size_t v = 0; v < VARIANT_COUNT && result == PELT_OK; v++)
        result = run_variant(context, model, &clip, s, &variants[v], rest.triangle_count, &base);
    return result;
}

int main(int count, char **texts) {
    pelt_context *context;
    if (pelt_context_create(NULL, &context) != PELT_OK)
        return 1;
    double ratio = count > 2 ? atof(texts[2]) : 0.125;
    printf("| model | method | triangles | RMS | | largest | | CPU s |\n|---|---|---|---|---|---|---|---|\n");
    for (size_t n = 0; n < sizeof subjects / sizeof subjects[0]; n++) {
        const subject *s = &subjects[n];
        pelt_model *model = NULL;
        if (count > 1 && strncmp(s->name, texts[1], strlen(texts[1])) != 0)
            continue;
        pelt_result result = open_subject(context, s, &model);
        if (result == PELT_OK)
            result = run(context, s, ratio, model);
        if (result != PELT_OK)
            printf("%s: %s\n", s->name, pelt_error_text(context));
        pelt_model_destroy(model);
    }
    pelt_context_destroy(context);
    return 0;
}
