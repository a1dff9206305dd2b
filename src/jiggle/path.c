/* Interpolation of poses by cubic Hermite splines with continuous velocity. Linear interpolation would apply an impulse
 * to the tissue at every pose, larger for fewer poses.
 *
 * The velocity at a pose is that of the parabola through it and the two poses before it: c + (c − c₀) T / (T₀ + T),
 * with the mean velocities c, c₀ of the last two steps and their lengths T, T₀. So no future pose is needed. */
#include "jiggle/path.h"

#include "core/math3.h"

static void numbers_of(const pelt_transform *t, float out[PX_PATH_NUMBERS]) {
    memcpy(out, t->translation, sizeof t->translation);
    memcpy(out + 3, t->rotation, sizeof t->rotation);
    memcpy(out + 7, t->scale, sizeof t->scale);
}

pelt_result px_path_make(px_arena *arena, const pelt_skeleton *skeleton, px_path *path) {
    *path = (px_path){skeleton->joint_count, PX_NEW(arena, px_joint_path, skeleton->joint_count), 0};
    for (uint32_t j = 0; path->joints && j < path->joint_count; j++)
        numbers_of(&skeleton->rest[j], path->joints[j].to);
    return path->joints ? PELT_OK : PELT_ERROR_MEMORY;
}

void px_path_aim(px_path *path, const pelt_transform *locals) {
    for (uint32_t j = 0; j < path->joint_count; j++) {
        px_joint_path *p = &path->joints[j];
        float to[PX_PATH_NUMBERS];
        float along = 0;
        bool finite = true;
        numbers_of(&locals[j], to);
        for (int e = 0; e < PX_PATH_NUMBERS; e++)
            finite &= isfinite(to[e]) != 0;
        for (int e = 3; e < 7; e++)
            along += p->from[e] * to[e];
        for (int e = 3; e < 7; e++)
            to[e] = along < 0 ? -to[e] : to[e];
        if (finite)
            memcpy(p->to, to, sizeof to);
    }
}

void px_path_leave(px_path *path, double seconds) {
    for (uint32_t j = 0; j < path->joint_count; j++) {
        px_joint_path *p = &path->joints[j];
        for (int e = 0; e < PX_PATH_NUMBERS; e++) {
            double c = ((double)p->to[e] - (double)p->from[e]) / seconds;
            double more = path->interval > 0 ? (c - (double)p->chord[e]) * seconds / (path->interval + seconds) : 0;
            p->arriving[e] = (float)(c + more);
            p->chord[e] = (float)c;
        }
    }
}

void px_path_at(const px_path *path, double part, double seconds, pelt_transform *locals) {
    double s = part, s2 = s * s, s3 = s2 * s, end = 3 * s2 - 2 * s3, out = s3 - 2 * s2 + s, in = s3 - s2;
    for (uint32_t j = 0; j < path->joint_count; j++) {
        const px_joint_path *p = &path->joints[j];
        float now[PX_PATH_NUMBERS];
        for (int e = 0; e < PX_PATH_NUMBERS; e++)
            now[e] = part < 1 ? (float)((1 - end) * (double)p->from[e] + end * (double)p->to[e] +
                                        seconds * (out * (double)p->leaving[e] + in * (double)p->arriving[e]))
                              : p->to[e];
        memcpy(locals[j].translation, now, sizeof locals[j].translation);
        memcpy(locals[j].rotation, now + 3, sizeof locals[j].rotation);
        memcpy(locals[j].scale, now + 7, sizeof locals[j].scale);
        if (part < 1)
            px_quat_normalize(locals[j].rotation);
    }
}

void px_path_arrive(px_path *path, double seconds) {
    for (uint32_t j = 0; j < path->joint_count; j++) {
        px_joint_path *p = &path->joints[j];
        memcpy(p->from, p->to, sizeof p->from);
        memcpy(p->leaving, p->arriving, sizeof p->leaving);
    }
    path->interval = seconds;
}

void px_path_stop(px_path *path) {
    for (uint32_t j = 0; j < path->joint_count; j++) {
        px_joint_path *p = &path->joints[j];
        memcpy(p->from, p->to, sizeof p->from);
        memset(p->leaving, 0, sizeof p->leaving);
        memset(p->arriving, 0, sizeof p->arriving);
        memset(p->chord, 0, sizeof p->chord);
    }
    path->interval = 0;
}
