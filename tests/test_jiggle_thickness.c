/* Softness by thickness: thick tissue swings; hands, feet, heads and thin tissue are held; tissue thinner than a cell
 * follows the rig's own skin. */
#include "support.h"

#include "jiggle/object.h"
#include "scenes.h"

#include <pelt/run.h>

#include <math.h>
#include <string.h>

typedef struct tissue {
    test_context test;
    pelt_model *model;
    pelt_jiggle_desc desc;
    pelt_clip reference, clip;
    double size; /* diagonal of the mesh */
} tissue;

static void begin(tissue *f) {
    test_begin(&f->test, 1);
    f->desc = pelt_jiggle_desc_default();
    f->desc.particles = 500;
    f->desc.frequency = 8; /* softer than the default, so that motion is measurable */
    f->desc.damping = 4;
    scene_desc desc = {.vertex_count = 900, .frame_count = 21};
    test_ok(&f->test, scene_find("troll")->make(f->test.context, &desc, &f->model));
    float low[3], high[3];
    f->size = px_box(f->model->mesh.positions, f->model->mesh.vertex_count, low, high);
}

static void bake(tissue *f, pelt_clip *clip) {
    pelt_jiggle_bake_desc how = pelt_jiggle_bake_desc_default();
    how.preroll = 0.2;
    test_ok(&f->test, pelt_jiggle_bake(f->test.context, f->model, f->model->motions, &f->desc, &how, clip, NULL));
}

/* Bakes the tissue, and a reference that does not swing. */
static void bake_both(tissue *f) {
    double delta = f->desc.delta;
    uint32_t joint_count = f->desc.joint_count;
    f->desc.delta = f->desc.joint_count = 0;
    bake(f, &f->reference);
    f->desc.delta = delta;
    f->desc.joint_count = joint_count;
    bake(f, &f->clip);
}

static void end(tissue *f) {
    pelt_model_destroy(f->model);
    test_end(&f->test);
}

/* Largest distance from the reference of a vertex that mostly follows a joint of this name, relative to the mesh
 * size. */
static double farthest(tissue *f, const char *name) {
    const pelt_skin *skin = &f->model->skin;
    size_t K = skin->influence_count, points = f->clip.point_count;
    float *plain = test_malloc(3 * points * sizeof *plain);
    double most = 0;
    for (uint32_t k = 0; k < f->clip.frame_count; k++) {
        test_ok(&f->test, pelt_clip_read(f->test.context, &f->reference, k, 0, (uint32_t)points, plain));
        for (size_t i = 0; i < f->model->mesh.vertex_count; i++) {
            size_t p = pelt_vertex_class(&f->model->mesh.points, i), best = 0;
            for (size_t c = 1; c < K; c++)
                best = skin->weights[i * K + c] > skin->weights[i * K + best] ? c : best;
            const char *joint = f->model->skeleton.names[skin->bone_joints[skin->bones[i * K + best]]];
            const float *a = f->clip.positions + 3 * (points * k + p), *b = plain + 3 * p;
            double far = hypot(hypot((double)(a[0] - b[0]), (double)(a[1] - b[1])), (double)(a[2] - b[2]));
            if (strncmp(joint, name, strlen(name)) == 0)
                most = fmax(most, far / f->size);
        }
    }
    test_free(plain);
    return most;
}

static void thick_tissue_swings_ends_hold(void **state) {
    (void)state;
    static const char *const ends[] = {"head", "hand", "foot"};
    for (int even = 0; even < 2; even++) {
        tissue f;
        begin(&f);
        f.desc.softness = even ? PELT_JIGGLE_SOFTNESS_EVEN : PELT_JIGGLE_SOFTNESS_THICKNESS;
        bake_both(&f);
        double worst = 0;
        for (size_t n = 0; n < 3; n++)
            worst = fmax(worst, farthest(&f, ends[n]));
        assert_true(even ? worst > 0.01 : worst < 0.004);
        assert_true(farthest(&f, "belly") > 0.004);
        end(&f);
    }
}

/* Joint names only add to the thickness criterion: without them thin ends are held as well. */
static void names_are_not_needed(void **state) {
    (void)state;
    tissue f;
    begin(&f);
    for (uint32_t j = 0; j < f.model->skeleton.joint_count; j++)
        if (strstr(f.model->skeleton.names[j], "hand") || strstr(f.model->skeleton.names[j], "foot"))
            f.model->skeleton.names[j] = "end";
    bake_both(&f);
    assert_true(farthest(&f, "end") < 0.004);
    end(&f);
}

/* With swing and volume preservation off, held vertices equal plain skinning, however coarse the lattice. */
static void held_vertices_have_the_skin(void **state) {
    (void)state;
    tissue f;
    begin(&f);
    f.desc.delta = f.desc.volume = 0;
    f.desc.particles = 60;
    bake(&f, &f.clip);
    test_ok(&f.test,
            pelt_clip_from_motion(f.test.context, f.model, f.model->motions, 30, PELT_SKINNING_LINEAR, &f.reference));
    assert_int_equal(f.reference.frame_count, f.clip.frame_count);
    assert_true(farthest(&f, "hand") < 2e-3 && farthest(&f, "foot") < 2e-3);
    end(&f);
}

/* A joint with its own δ uses it and swings freely. */
static void joints_with_values_have_them(void **state) {
    (void)state;
    tissue f;
    double far[2];
    for (int soft = 0; soft < 2; soft++) {
        begin(&f);
        pelt_jiggle_joint belly = pelt_jiggle_joint_default(0);
        while (strcmp(f.model->skeleton.names[belly.joint], "belly") != 0)
            belly.joint++;
        belly.delta = 0.97f;
        f.desc.joints = &belly;
        f.desc.joint_count = (uint32_t)soft;
        bake_both(&f);
        far[soft] = farthest(&f, "belly");
        end(&f);
    }
    assert_true(far[1] > 1.4 * far[0] && far[1] > 0.005);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thick_tissue_swings_ends_hold),
        cmocka_unit_test(names_are_not_needed),
        cmocka_unit_test(held_vertices_have_the_skin),
        cmocka_unit_test(joints_with_values_have_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
