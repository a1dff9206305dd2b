/* What programs expect of FBX files: see fbx_write.h. The reasons are those known of the programs, not measured. */
#include "core/math3.h"
#include "io/fbx_write.h"

/* In the order of pelt_file_target. A rate of 0 ends a list; the first rate is the one that the program expects. */
static const px_fbx_target targets[] = {
    [PELT_FILE_ANY] = {.unit = 100},
    [PELT_FILE_UNREAL] = {.name = "unreal",
                          .z_up = true,
                          .unit = 100,
                          .one_root = true,
                          .rates = {30, 24, 60, 120},
                          .axes_reason = "its own up axis: no conversion turns the root bone by 90 degrees",
                          .unit_reason = "its unit: bones have a scale of 1",
                          .rate_reason = "clips that end between two frames are refused"},
    [PELT_FILE_UNITY] = {.name = "unity",
                         .unit = 1,
                         .rates = {30, 24, 60, 120},
                         .axes_reason = "its own up axis: only x is mirrored on import",
                         .unit_reason = "its unit: the file scale is 1 and so is that of the imported root",
                         .rate_reason = "curves are resampled at the rate of the file"},
    [PELT_FILE_MAYA] = {.name = "maya",
                        .unit = 100,
                        .rates = {24, 30, 48, 60, 120},
                        .axes_reason = "the up axis of new scenes",
                        .unit_reason = "the unit of new scenes",
                        .rate_reason = "keys lie on whole frames of a time unit that it has"},
};

const px_fbx_target *px_fbx_target_at(uint32_t index) {
    return &targets[index < PX_COUNT(targets) ? index : 0];
}

int32_t px_fbx_time_mode(double rate) {
    static const struct {
        double rate;
        int32_t mode;
    } modes[] = {{120, 1}, {60, 3}, {48, 5}, {30, 6}, {24, 11}};
    for (size_t m = 0; m < PX_COUNT(modes); m++)
        if (modes[m].rate == rate)
            return modes[m].mode;
    return 6;
}

/* Whether all keys of all motions lie on frames of this rate, counted from the start of their motion. */
static bool holds_keys(const pelt_model *model, double rate) {
    for (uint32_t m = 0; m < model->motion_count; m++)
        for (uint32_t t = 0; t < model->motions[m].track_count; t++)
            for (uint32_t k = 0; k < model->motions[m].tracks[t].key_count; k++) {
                double frame = ((double)model->motions[m].tracks[t].times[k] - model->motions[m].start) * rate;
                if (fabs(frame - floor(frame + 0.5)) > 0.02)
                    return false;
            }
    return true;
}

/* The first rate that holds all keys; where none does, twice the first, so that little is lost between frames. */
double px_fbx_target_rate(const px_fbx_target *target, const pelt_model *model) {
    for (size_t r = 0; r < PX_COUNT(target->rates) && target->rates[r] > 0; r++)
        if (holds_keys(model, target->rates[r]))
            return target->rates[r];
    return 2 * target->rates[0];
}

void px_fbx_target_tell(const px_fbx_writer *w) {
    const px_fbx_target *t = w->target;
    pelt_context *context = w->write->context;
    if (!t->name || w->write->trial)
        return;
    px_log(context, PELT_LOG_INFO, "target %s: %s up: %s", t->name, t->z_up ? "z" : "y", t->axes_reason);
    px_log(context, PELT_LOG_INFO, "target %s: %s: %s", t->name, t->unit == 1 ? "metres" : "centimetres",
           t->unit_reason);
    if (w->model->motion_count)
        px_log(context, PELT_LOG_INFO, "target %s: %g frames per second: %s", t->name, w->rate, t->rate_reason);
    if (w->new_root)
        px_log(context, PELT_LOG_INFO, "target %s: a joint 'root' above %u roots: skeletons have one", t->name,
               w->root_count);
}

/* ---- Axes ------------------------------------------------------------------------------------------------------- */

/* y up to z up: (x, y, z) becomes (x, −z, y), a quarter turn about x. */
static pelt_affine quarter(bool back) {
    pelt_affine a = {{1, 0, 0, 0, 0, 0, -1, 0, 0, 1, 0, 0}};
    if (back)
        a.m[6] = 1, a.m[9] = -1;
    return a;
}

void px_fbx_turn_vector(const px_fbx_writer *w, double v[3]) {
    if (!w->target->z_up)
        return;
    double y = v[1];
    v[1] = -v[2];
    v[2] = y;
}

void px_fbx_turn_root(const px_fbx_writer *w, pelt_transform *local) {
    if (!w->target->z_up)
        return;
    float y = local->translation[1];
    local->translation[1] = -local->translation[2];
    local->translation[2] = y;
    /* (√½, 0, 0, √½) times the rotation. */
    const double h = 0.70710678118654752440;
    double q[4] = {local->rotation[0], local->rotation[1], local->rotation[2], local->rotation[3]};
    local->rotation[0] = (float)(h * (q[3] + q[0]));
    local->rotation[1] = (float)(h * (q[1] - q[2]));
    local->rotation[2] = (float)(h * (q[2] + q[1]));
    local->rotation[3] = (float)(h * (q[3] - q[0]));
}

pelt_affine px_fbx_turn_from(const px_fbx_writer *w, const pelt_affine *a) {
    pelt_affine back = quarter(true);
    return w->target->z_up ? px_affine_mul(a, &back) : *a;
}

pelt_affine px_fbx_turn_to(const px_fbx_writer *w, const pelt_affine *a) {
    pelt_affine turn = quarter(false);
    return w->target->z_up ? px_affine_mul(&turn, a) : *a;
}

bool px_fbx_is_free(const px_fbx_writer *w, const px_mesh_group *g) {
    return g->skinned || w->mesh.parts[g->first].joint == PELT_NONE;
}
