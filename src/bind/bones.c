/* Bone segments. A skeleton has joints only; a bone runs from its joint to the next one.
 *
 *   one child       from the joint to the child
 *   several         along the axis that the rig's joints share with their bones, if there is one (most programs write
 *                   such rigs), and to the children beside it (hips to the thighs); else to every child. Fans to many
 *                   children (a face) stay fans
 *   none            along that axis, else towards the volume beyond the joint, to the end of the volume; at most twice
 *                   the distance from the parent, so as not to pass through parts that the limb touches
 *   a flat rig      joints without hierarchy are linked along the axis on which most of them meet another one
 *
 * Rigs whose bones run along +y come from Blender. Its bones end where their axis says, and its automatic weights, with
 * which artists begin there, treat all bones alike and blend widely: such rigs get no bones to children beside the axis,
 * no handicaps and weaker anchors, and a joint whose children all lie behind it (a body from which the limbs hang) has a
 * bone along its axis.
 *
 * Control joints (targets, roots outside the volume) have no bones. Weights in the file outrank name and position of a
 * joint in this decision. */
#include "bind/bind.h"
#include "core/math3.h"

#define ZERO_LENGTH        1e-3f  /* of the diagonal: shorter bones have no direction */
#define NEAR_VOLUME        0.01f  /* of the diagonal: joints this close to the volume count as inside */
#define MIN_INSIDE         0.5f   /* share of a segment inside the volume: with less it is no bone … */
#define MIN_INSIDE_SEVERAL 0.75f  /* … the same for the mean of several segments */
#define MAX_CHILDREN       6u     /* a joint with more children has a bone to each; with fewer, its axis selects one */
#define AXIS_COSINE        0.9f   /* minimum cosine between a bone and an axis that is along it */
#define CHILD_COSINE       0.95f  /* minimum cosine between the axis and a child that continues the bone */
#define MIN_COSINE         0.5f   /* minimum cosine between the axis and the best of several children */
#define MEETING_COSINE     0.985f /* minimum cosine between the axis and the joint that it meets, in a flat rig */
#define AXIS_SHARE         0.6f   /* share of the joints with one child that must agree on an axis */
#define MIN_GAIN           0.1f   /* minimum increase of the filled share of shells for another axis to win */
#define SAME_LENGTH        0.99f  /* shells that contain this share of the longest part of a bone contain it equally */
#define LEAF_LENGTH        2.0f   /* maximum length of a bone without children / distance from the joint above */
#define POINT_LENGTH       0.3f   /* of the distance to the parent: shorter bones without children count as points */
#define POINT_LIMIT        0.5f   /* of the distance to the nearest joints: reach of such a point */
#define MIN_INSIDE_BESIDE  0.75f  /* share of a segment to a child beside the axis that must be inside the volume */
#define MIN_BEYOND         8u     /* voxels beyond a joint from which on their centroid gives its bone's direction */
#define CLAVICLE_HANDICAP  2.0f   /* clavicles move little of the chest around them */
#define BESIDE_BEHIND      0.5f   /* px_bind_bones.behind of bones that leave their parent's bone sideways */
#define BLENDER_AXIS       2      /* +y */
#define BLENDER_ANCHOR     0.6f   /* px_bind_bones.anchor of such rigs */
#define BEHIND_COSINE      -0.15f /* maximum cosine between the axis and children behind a joint */

typedef struct layout {
    px_bind_subject *s;
    const px_bind_volume *volume;
    px_bind_bones *bones;
    uint32_t joint_count;
    uint32_t *parents; /* [joint] as in the skeleton; in flat rigs the found links */
    bool *deforms;     /* [joint] a target, not a control joint */
    bool *marks;       /* [joint] not a target because it has no weights, yet it shows where its parent's bone ends */
    float side;        /* edge of a cell along x, world units */
    float zero;        /* lengths below count as zero, world units */
    uint32_t *queue;   /* [voxel] scratch of turn_to_volume */
    uint8_t *seen;     /* [voxel] the same, 0 */
    int axis;          /* axis along bones: 0 to 5 for +x −x +y −y +z −z of the joints; −1: none */
    bool flat;
    bool limbs; /* no joint has exactly one child: every limb is a single joint */
} layout;

/* ---- Geometry ---------------------------------------------------------------------------------------------- */

static void place_of(const layout *l, uint32_t joint, float out[3]) {
    for (int c = 0; c < 3; c++)
        out[c] = l->s->joints[joint].m[4 * c + 3];
}

/* Unit direction from joint a to joint b; returns the distance. */
static float direction(const layout *l, uint32_t a, uint32_t b, float out[3]) {
    float from[3], to[3];
    place_of(l, a, from);
    place_of(l, b, to);
    px_sub3(to, from, out);
    float length = sqrtf(px_dot3(out, out));
    for (int c = 0; c < 3 && length > 0; c++)
        out[c] /= length;
    return length;
}

static float distance(const layout *l, uint32_t a, uint32_t b) {
    float unused[3];
    return direction(l, a, b, unused);
}

/* Unit vector along an axis of a joint, world space. */
static void axis_of(const layout *l, uint32_t joint, int axis, float out[3]) {
    float sign = axis % 2 ? -1.0f : 1.0f;
    for (int c = 0; c < 3; c++)
        out[c] = sign * l->s->joints[joint].m[4 * c + axis / 2];
    float length = sqrtf(px_dot3(out, out));
    for (int c = 0; c < 3 && length > 0; c++)
        out[c] /= length;
}

static void to_grid(const layout *l, const float p[3], float out[3]) {
    px_bind_to_grid(&l->volume->voxels.grid, p, out);
}

static float share_inside(const layout *l, uint32_t a, uint32_t b) {
    float from[3], to[3], grid_from[3], grid_to[3];
    place_of(l, a, from);
    place_of(l, b, to);
    to_grid(l, from, grid_from);
    to_grid(l, to, grid_to);
    return px_bind_share_inside(l->volume, grid_from, grid_to);
}

static bool is_target(const layout *l, uint32_t joint) {
    return l->s->joint_targets[joint] != PELT_NONE;
}

/* The next child of a joint, from index `from` on, that is not at the same position; or PELT_NONE. target: children
 * that deform or mark an end; else those that are no targets. */
static uint32_t next_child(const layout *l, uint32_t joint, uint32_t from, bool target) {
    for (uint32_t k = from; k < l->joint_count; k++)
        if (l->parents[k] == joint && (target ? l->deforms[k] || l->marks[k] : !is_target(l, k)) &&
            distance(l, joint, k) >= l->zero)
            return k;
    return PELT_NONE;
}

static uint32_t child_count(const layout *l, uint32_t joint) {
    uint32_t count = 0;
    for (uint32_t k = next_child(l, joint, 0, true); k != PELT_NONE; k = next_child(l, joint, k + 1, true))
        count++;
    return count;
}

/* ---- Axis along bones -------------------------------------------------------------------------------------- */

/* The axis (0 to 5) that most joints with one child have along their bone, or −1; *voters: number of such joints. */
static int vote_axis(const layout *l, uint32_t *voters) {
    uint32_t votes[6] = {0};
    *voters = 0;
    for (uint32_t t = 0; t < l->s->target_count; t++) {
        uint32_t j = l->s->targets[t], child = next_child(l, j, 0, true);
        if (child_count(l, j) != 1)
            continue;
        float way[3], axis[3];
        direction(l, j, child, way);
        (*voters)++;
        for (int a = 0; a < 6; a++) {
            axis_of(l, j, a, axis);
            votes[a] += px_dot3(way, axis) > AXIS_COSINE;
        }
    }
    for (int a = 0; a < 6; a++)
        if ((float)votes[a] > AXIS_SHARE * (float)*voters)
            return a;
    return -1;
}

/* The nearest target in the direction of an axis of a joint, or PELT_NONE. */
static uint32_t meets(const layout *l, uint32_t joint, int axis) {
    uint32_t nearest = PELT_NONE;
    float way[3], along[3], best = INFINITY;
    axis_of(l, joint, axis, along);
    for (uint32_t t = 0; t < l->s->target_count; t++) {
        float length = direction(l, joint, l->s->targets[t], way);
        if (length >= l->zero && length < best && px_dot3(way, along) > MEETING_COSINE) {
            best = length;
            nearest = l->s->targets[t];
        }
    }
    return nearest;
}

/* Mean distance between the joints in `one` but not in `other`. */
static float spread(const layout *l, const bool *one, const bool *other) {
    double sum = 0;
    size_t count = 0;
    for (uint32_t a = 0; a < l->joint_count; a++)
        for (uint32_t b = 0; b < a; b++)
            if (one[a] && !other[a] && one[b] && !other[b]) {
                sum += distance(l, a, b);
                count++;
            }
    return count ? (float)(sum / (double)count) : 0;
}

/* Links the joints of a flat rig. Along the right axis most joints meet another one, and chains begin closer together
 * (a palm) than they end. */
static pelt_result join_flat(px_arena *arena, layout *l) {
    bool *begins = PX_NEW(arena, bool, l->joint_count), *ends = PX_NEW(arena, bool, l->joint_count);
    uint32_t *links = PX_NEW(arena, uint32_t, l->joint_count); /* [joint] the nearest joint that meets it */
    if (!begins || !ends || !links)
        return PELT_ERROR_MEMORY;
    memset(links, 0xff, l->joint_count * sizeof *links);
    uint32_t best = 0;
    for (int a = 0; a < 6; a++) {
        uint32_t count = 0;
        memset(begins, 0, l->joint_count);
        memset(ends, 0, l->joint_count);
        for (uint32_t t = 0; t < l->s->target_count; t++) {
            uint32_t j = l->s->targets[t], next = meets(l, j, a);
            if (next == PELT_NONE)
                continue;
            begins[j] = ends[next] = true;
            count++;
        }
        if (spread(l, begins, ends) < spread(l, ends, begins))
            count *= 2;
        if (count > best) {
            best = count;
            l->axis = a;
        }
    }
    for (uint32_t t = 0; t < l->s->target_count && l->axis >= 0; t++) {
        uint32_t j = l->s->targets[t], next = meets(l, j, l->axis);
        if (next == PELT_NONE || next == l->parents[j])
            continue;
        if (links[next] == PELT_NONE || distance(l, j, next) < distance(l, links[next], next))
            l->parents[next] = links[next] = j;
    }
    return PELT_OK;
}

/* ---- Control joints ---------------------------------------------------------------------------------------- */

static bool near_volume(const layout *l, uint32_t joint) {
    float world[3], p[3], distance;
    place_of(l, joint, world);
    to_grid(l, world, p);
    return px_bind_nearest_voxel(l->volume, p, NEAR_VOLUME * l->volume->diagonal + 1, &distance) != PELT_NONE;
}

static bool below_a_bone(const layout *l, uint32_t joint) {
    for (uint32_t p = l->parents[joint]; p != PELT_NONE; p = l->s->rig->skeleton.parents[p])
        if (l->deforms[p])
            return true;
    return false;
}

/* A root by name, or a topmost joint outside the volume whose bones are mostly outside too. */
static bool is_outer_root(const layout *l, uint32_t joint) {
    if (px_bind_name_is_root(l->s->rig->skeleton.names[joint]))
        return true;
    if (near_volume(l, joint))
        return false;
    float inside = 0;
    uint32_t count = 0;
    for (uint32_t k = next_child(l, joint, 0, true); k != PELT_NONE; k = next_child(l, joint, k + 1, true)) {
        inside += share_inside(l, joint, k);
        count++;
    }
    return count == 0 || inside < (count == 1 ? MIN_INSIDE : MIN_INSIDE_SEVERAL) * (float)count;
}

static bool steers(const layout *l, uint32_t joint) {
    const char **names = l->s->rig->skeleton.names;
    bool shared = false;
    for (uint32_t t = 0; t < l->s->target_count && px_bind_name_is_ik(names[joint]); t++) {
        uint32_t other = l->s->targets[t];
        shared |= other != joint && !px_bind_name_is_ik(names[other]) && distance(l, joint, other) < l->zero;
    }
    return shared || px_bind_name_steers(names[joint]);
}

/* Marks joints without weights in the file. Those whose names say why (controls, roots, ends) are reported as
 * controls. */
static void find_marks(layout *l) {
    for (uint32_t j = 0; j < l->joint_count; j++) {
        const char *name = l->s->rig->skeleton.names[j];
        if (l->s->idle[j] != PELT_BIND_UNWEIGHTED)
            continue;
        l->marks[j] = !px_bind_name_steers(name) && !px_bind_name_is_ik(name);
        if (!l->marks[j] || px_bind_name_is_root(name) || px_bind_name_is_end(name))
            l->s->idle[j] = PELT_BIND_CONTROL;
    }
}

static void find_steering(layout *l) {
    uint32_t left = 0;
    for (uint32_t t = 0; t < l->s->target_count; t++)
        l->deforms[l->s->targets[t]] = l->s->trusted[l->s->targets[t]] || !steers(l, l->s->targets[t]);
    for (uint32_t t = 0; t < l->s->target_count; t++) { /* parents are classified first */
        uint32_t j = l->s->targets[t];
        l->deforms[j] = l->deforms[j] && (l->s->trusted[j] || below_a_bone(l, j) || !is_outer_root(l, j));
        left += l->deforms[j];
    }
    for (uint32_t t = 0; t < l->s->target_count && left == 0; t++) /* a rig of roots only: use them all */
        l->deforms[l->s->targets[t]] = true;
    for (uint32_t t = 0; t < l->s->target_count; t++)
        if (!l->deforms[l->s->targets[t]])
            l->s->idle[l->s->targets[t]] = PELT_BIND_CONTROL;
}

/* ---- Segments ---------------------------------------------------------------------------------------------- */

static px_bind_segment *add_segment(layout *l, uint32_t joint, const float end[3]) {
    px_bind_segment *segment = &l->bones->segments[l->bones->segment_count++];
    float start[3];
    place_of(l, joint, start);
    to_grid(l, start, segment->a);
    to_grid(l, end, segment->b);
    segment->target = l->s->joint_targets[joint];
    return segment;
}

static void add_to_child(layout *l, uint32_t joint, uint32_t child) {
    float end[3];
    place_of(l, child, end);
    add_segment(l, joint, end);
}

/* Whether the cosine between a joint's axis and the way to one of its children is at least `cosine`. */
static bool has_child_ahead(const layout *l, uint32_t joint, float cosine) {
    float axis[3], way[3];
    axis_of(l, joint, l->axis, axis);
    for (uint32_t k = next_child(l, joint, 0, true); k != PELT_NONE; k = next_child(l, joint, k + 1, true)) {
        direction(l, joint, k, way);
        if (px_dot3(way, axis) >= cosine)
            return true;
    }
    return false;
}

/* Whether a joint has a bone to a child of its own (`through` = the joint) or of its child `through`, which lies beside
 * that joint's axis. The nearer of the two has it: thighs may hang from the spine, yet they begin at the pelvis. Not to
 * clavicles. */
static bool has_bone_beside(const layout *l, uint32_t joint, uint32_t through, uint32_t child) {
    uint32_t above = l->parents[through];
    bool raised = above != PELT_NONE && is_target(l, above) && l->deforms[above] &&
                  distance(l, above, child) < distance(l, through, child);
    return l->axis != BLENDER_AXIS && joint == (raised ? above : through) &&
           !px_bind_name_is_clavicle(l->s->rig->skeleton.names[child]) &&
           share_inside(l, joint, child) >= MIN_INSIDE_BESIDE;
}

/* Bones to children of children that begin nearer to this joint. */
static void add_raised(layout *l, uint32_t joint) {
    for (uint32_t j = next_child(l, joint, 0, true); j != PELT_NONE && l->axis >= 0;
         j = next_child(l, joint, j + 1, true)) {
        uint32_t children = child_count(l, j);
        if (children < 2 || children > MAX_CHILDREN || !has_child_ahead(l, j, MIN_COSINE))
            continue;
        for (uint32_t k = next_child(l, j, 0, true); k != PELT_NONE; k = next_child(l, j, k + 1, true))
            if (has_bone_beside(l, joint, j, k))
                add_to_child(l, joint, k);
    }
}

/* Several children: a bone to the child on the axis, else along the axis to the farthest extent of the children, and
 * bones to the children beside it. False if all children lie off the axis or behind. */
static bool add_along_axis(layout *l, uint32_t joint) {
    float axis[3], way[3], best = -1, longest = 0;
    uint32_t straight = PELT_NONE;
    axis_of(l, joint, l->axis, axis);
    for (uint32_t k = next_child(l, joint, 0, true); k != PELT_NONE; k = next_child(l, joint, k + 1, true)) {
        float length = direction(l, joint, k, way), along = px_dot3(way, axis);
        if (along > best) {
            best = along;
            straight = k;
        }
        longest = px_fmaxf(longest, along * length);
    }
    if (best < MIN_COSINE)
        return false;
    for (uint32_t k = next_child(l, joint, 0, true); k != PELT_NONE; k = next_child(l, joint, k + 1, true))
        if (k != straight && has_bone_beside(l, joint, joint, k))
            add_to_child(l, joint, k);
    if (best >= CHILD_COSINE) {
        add_to_child(l, joint, straight);
        return true;
    }
    float end[3];
    place_of(l, joint, end);
    for (int c = 0; c < 3; c++)
        end[c] += longest * axis[c];
    if (longest > 0)
        add_segment(l, joint, end);
    return longest > 0;
}

/* Direction of a bone without children; false if unknown. */
static bool leaf_direction(const layout *l, uint32_t joint, float out[3]) {
    if (l->axis >= 0) {
        axis_of(l, joint, l->axis, out);
        return true;
    }
    for (uint32_t p = l->parents[joint]; p != PELT_NONE; p = l->s->rig->skeleton.parents[p])
        if (direction(l, p, joint, out) >= l->zero)
            return true;
    return false;
}

/* Distance from the nearest ancestor at another position; INFINITY if there is none. */
static float way_from_above(const layout *l, uint32_t joint) {
    for (uint32_t p = l->parents[joint]; p != PELT_NONE; p = l->s->rig->skeleton.parents[p])
        if (distance(l, p, joint) >= l->zero)
            return distance(l, p, joint);
    return INFINITY;
}

/* Whether no target is nearer to p than a joint at the squared distance `squared`. */
static bool is_nearest(const layout *l, uint32_t joint, const float p[3], float squared) {
    for (uint32_t t = 0; t < l->s->target_count; t++) {
        float other[3], way[3];
        place_of(l, l->s->targets[t], other);
        px_sub3(p, other, way);
        if (l->s->targets[t] != joint && px_dot3(way, way) < squared)
            return false;
    }
    return true;
}

/* Turns the direction `way` of a bone without children to the centroid of the volume beyond the joint: voxels at most
 * `most` away, in front of the plane across `way`, connected there to the joint, and nearer to it than to others. The
 * limb may go on in another direction than the bone above (a foot below an ankle, a head on a bent neck). */
static void turn_to_volume(const layout *l, uint32_t joint, float most, float way[3]) {
    const px_bind_volume *volume = l->volume;
    const px_grid *grid = &volume->voxels.grid;
    float start[3], p[3], unused;
    double sums[3] = {0};
    uint32_t found = 0, count = 0;
    place_of(l, joint, start);
    to_grid(l, start, p);
    uint32_t first = px_bind_nearest_voxel(volume, p, NEAR_VOLUME * volume->diagonal + 1, &unused);
    if (first != PELT_NONE)
        l->seen[l->queue[count++] = first] = 1;
    for (uint32_t n = 0; n < count; n++) {
        uint32_t voxel = l->queue[n];
        float off[3];
        for (int c = 0; c < 3; c++) {
            p[c] = (float)((volume->voxels.cells[voxel][c] + 0.5) * grid->cell[c] + grid->origin[c]);
            off[c] = p[c] - start[c];
        }
        float squared = px_dot3(off, off);
        if (n > 0 && (px_dot3(off, way) < 0 || squared > most * most || !is_nearest(l, joint, p, squared)))
            continue;
        found++;
        for (int c = 0; c < 3; c++)
            sums[c] += (double)off[c];
        for (int k = 0; k < 6; k++) {
            uint32_t next = volume->neighbours[voxel][k];
            if (next != PELT_NONE && !l->seen[next])
                l->seen[l->queue[count++] = next] = 1;
        }
    }
    for (uint32_t n = 0; n < count; n++)
        l->seen[l->queue[n]] = 0;
    double length = sqrt(sums[0] * sums[0] + sums[1] * sums[1] + sums[2] * sums[2]);
    for (int c = 0; c < 3 && length > 0 && found >= MIN_BEYOND; c++)
        way[c] = (float)(sums[c] / length);
}

static float nearest_joint(const layout *l, uint32_t joint) {
    float nearest = INFINITY;
    for (uint32_t t = 0; t < l->s->target_count; t++)
        if (l->s->targets[t] != joint)
            nearest = px_fminf(nearest, distance(l, joint, l->s->targets[t]));
    return nearest;
}

/* Extends the bone to the end of the volume, at most by LEAF_LENGTH. A bone that begins just outside may enter the
 * volume first; in a flat rig it ends at the distance of the nearest joint. */
static void add_leaf(layout *l, uint32_t joint) {
    float start[3], way[3], end[3], length = 0;
    place_of(l, joint, start);
    bool known = leaf_direction(l, joint, way);
    float most = l->flat                    ? nearest_joint(l, joint)
                 : l->limbs && l->axis >= 0 ? INFINITY
                                            : LEAF_LENGTH * way_from_above(l, joint);
    if (known && l->axis < 0 && !l->limbs)
        turn_to_volume(l, joint, most, way);
    for (uint32_t i = 0; known && i < 4 * PX_GRID_MAX && (float)i * l->side <= most; i++) {
        float p[3], grid[3];
        for (int c = 0; c < 3; c++)
            p[c] = start[c] + (float)i * l->side * way[c];
        to_grid(l, p, grid);
        if (px_bind_voxel(l->volume, grid) != PELT_NONE)
            length = (float)i * l->side;
        else if (i > 2)
            break;
    }
    for (int c = 0; c < 3; c++)
        end[c] = start[c] + (known ? length * way[c] : 0);
    px_bind_segment *segment = add_segment(l, joint, end);
    /* A point-like bone among others (a lip, a brow) reaches no farther than half the distance to its neighbours. The end
     * of a chain (toes) is not among others. */
    uint32_t parent = l->parents[joint];
    if (parent == PELT_NONE || !l->deforms[parent] || child_count(l, parent) < 2 ||
        length >= POINT_LENGTH * distance(l, parent, joint))
        return;
    float nearest[2] = {INFINITY, INFINITY};
    for (uint32_t t = 0; t < l->s->target_count; t++) {
        float d = l->s->targets[t] == joint ? INFINITY : distance(l, joint, l->s->targets[t]);
        if (d < nearest[1])
            nearest[1] = d;
        if (nearest[1] < nearest[0]) {
            float swap = nearest[0];
            nearest[0] = nearest[1];
            nearest[1] = swap;
        }
    }
    l->bones->limit[segment->target] = POINT_LIMIT * 0.5f * (nearest[0] + nearest[1]) / l->side;
}

static void add_bone(layout *l, uint32_t joint) {
    uint32_t children = child_count(l, joint), before = l->bones->segment_count;
    if (l->axis >= 0 && children > 1 && children <= MAX_CHILDREN && add_along_axis(l, joint))
        return;
    if (l->axis == BLENDER_AXIS && children > 1 && !has_child_ahead(l, joint, BEHIND_COSINE)) {
        add_leaf(l, joint);
        return;
    }
    for (uint32_t k = next_child(l, joint, 0, true); k != PELT_NONE; k = next_child(l, joint, k + 1, true))
        if (share_inside(l, joint, k) >= MIN_INSIDE)
            add_to_child(l, joint, k);
    if (children == 0)
        for (uint32_t k = next_child(l, joint, 0, false); k != PELT_NONE;
             k = next_child(l, joint, k + 1, false)) /* children that mark the end of the bone */
            add_to_child(l, joint, k);
    if (l->bones->segment_count > before)
        return;
    for (uint32_t k = 0; k < l->joint_count && children == 0;
         k++) /* another joint at the same position owns the bone instead */
        if (l->parents[k] == joint && is_target(l, k) && l->deforms[k])
            return;
    add_leaf(l, joint);
}

/* Computes all segments with the present axis. */
static void add_bones(layout *l) {
    l->bones->segment_count = 0;
    for (uint32_t t = 0; t < l->s->target_count; t++) {
        l->bones->limit[t] = INFINITY;
        if (!l->deforms[l->s->targets[t]])
            continue;
        add_bone(l, l->s->targets[t]);
        add_raised(l, l->s->targets[t]);
    }
}

/* Whether a bone begins beside the ends of its parent's bones. */
static bool leaves_sideways(const layout *l, uint32_t joint) {
    uint32_t parent = l->parents[joint], target = parent == PELT_NONE ? PELT_NONE : l->s->joint_targets[parent];
    float world[3], p[3];
    place_of(l, joint, world);
    to_grid(l, world, p);
    for (uint32_t k = 0; k < l->bones->segment_count && target != PELT_NONE; k++) {
        float off[3];
        px_sub3(l->bones->segments[k].b, p, off);
        if (l->bones->segments[k].target == target && px_dot3(off, off) < 1)
            return false;
    }
    return target != PELT_NONE;
}

static void set_handicaps(layout *l) {
    for (uint32_t t = 0; t < l->s->target_count; t++) {
        uint32_t j = l->s->targets[t];
        bool clavicle = l->axis != BLENDER_AXIS && px_bind_name_is_clavicle(l->s->rig->skeleton.names[j]);
        l->bones->handicap[t] = clavicle ? CLAVICLE_HANDICAP : 1;
        l->bones->behind[t] = l->axis != BLENDER_AXIS && leaves_sideways(l, j) ? BESIDE_BEHIND : 0;
    }
}

/* Length of the part of a segment inside a box, in cells. */
static float length_in_box(const layout *l, const px_bind_segment *segment, const px_bind_box *box) {
    float from = 0, to = 1, low[3], high[3], squares = 0;
    to_grid(l, box->low, low);
    to_grid(l, box->high, high);
    for (int c = 0; c < 3; c++) {
        float way = segment->b[c] - segment->a[c], first = low[c] - segment->a[c], last = high[c] - segment->a[c];
        squares += (way * l->volume->step[c]) * (way * l->volume->step[c]);
        if (way == 0) {
            to = first <= 0 && last >= 0 ? to : 0;
            continue;
        }
        from = px_fmaxf(from, px_fminf(first / way, last / way));
        to = px_fminf(to, px_fmaxf(first / way, last / way));
    }
    return px_fmaxf(to - from, 0) * sqrtf(squares);
}

/* How well bones fill the shells: mean over rows of the longest bone inside the row's shell / the longest side of its
 * box. A bone belongs to the shell that contains most of it, and to others that contain as much (a hat around a
 * head). */
static double filled(const layout *l, const px_bind_box *boxes, uint32_t shell_count, float *longest) {
    double sum = 0;
    memset(longest, 0, shell_count * sizeof *longest);
    for (uint32_t k = 0; k < l->bones->segment_count; k++) {
        float most = 0;
        for (uint32_t n = 0; n < shell_count; n++)
            most = px_fmaxf(most, length_in_box(l, &l->bones->segments[k], &boxes[n]));
        for (uint32_t n = 0; n < shell_count; n++) {
            float length = length_in_box(l, &l->bones->segments[k], &boxes[n]);
            longest[n] = length >= SAME_LENGTH * most ? px_fmaxf(longest[n], length) : longest[n];
        }
    }
    for (uint32_t n = 0; n < shell_count; n++) {
        float side = 0;
        for (int c = 0; c < 3; c++)
            side = px_fmaxf(side, (boxes[n].high[c] - boxes[n].low[c]) / l->side);
        sum += side > 0 ? boxes[n].row_count * (double)(longest[n] / side) : 0;
    }
    return sum / l->s->classes.count;
}

/* Where no joint can vote (a body with limbs of one joint each), chooses the axis whose bones fill the shells best. */
static pelt_result try_axes(px_arena *arena, layout *l) {
    uint32_t shell_count, *shells = PX_NEW(arena, uint32_t, l->s->classes.count);
    if (!shells)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_bind_shells(arena, l->s, shells, &shell_count));
    if (shell_count < 2)
        return PELT_OK;
    px_bind_box *boxes = px_bind_shell_boxes(arena, l->s, shells, shell_count);
    float *longest = PX_NEW(arena, float, shell_count);
    if (!boxes || !longest)
        return PELT_ERROR_MEMORY;
    double most = 0;
    int best = -1;
    for (l->axis = -1; l->axis < 6; l->axis++) {
        add_bones(l);
        double fill = filled(l, boxes, shell_count, longest);
        if (fill > most + (l->axis < 0 ? 0 : MIN_GAIN)) {
            most = fill;
            best = l->axis;
        }
    }
    l->axis = best;
    return PELT_OK;
}

/* ---- Entry point ------------------------------------------------------------------------------------------- */

static bool is_flat(const layout *l) {
    for (uint32_t t = 0; t < l->s->target_count; t++)
        for (uint32_t k = 0; k < l->joint_count; k++)
            if (l->parents[k] == l->s->targets[t] && is_target(l, k))
                return false;
    return l->s->target_count > 2;
}

static pelt_result make_bones(pelt_context *context, px_arena *arena, layout *l) {
    px_bind_subject *subject = l->s;
    px_bind_bones *bones = l->bones;
    memcpy(l->parents, subject->rig->skeleton.parents, l->joint_count * sizeof *l->parents);
    l->side = (float)l->volume->voxels.grid.cell[0];
    l->zero = ZERO_LENGTH * l->volume->diagonal * l->side;
    l->flat = is_flat(l);
    if (l->flat)
        PX_TRY(join_flat(arena, l));
    find_marks(l);
    find_steering(l);
    uint32_t voters = 1;
    if (!l->flat)
        l->axis = vote_axis(l, &voters);
    l->limbs = voters == 0;
    if (l->limbs)
        PX_TRY(try_axes(arena, l));
    add_bones(l);
    set_handicaps(l);
    bones->anchor = l->axis == BLENDER_AXIS ? BLENDER_ANCHOR : 1;
    for (uint32_t t = 0; t < subject->target_count; t++) {
        uint32_t parent = l->parents[subject->targets[t]];
        bones->heirs[t] = parent == PELT_NONE ? PELT_NONE : subject->joint_targets[parent];
    }
    return px_bind_bones_reach(context, l->volume, subject->target_count, bones);
}

pelt_result px_bind_bones_make(pelt_context *context, px_arena *arena, px_bind_subject *subject,
                               const px_bind_volume *volume, px_bind_bones *bones) {
    layout l = {
        .s = subject, .volume = volume, .bones = bones, .joint_count = subject->rig->skeleton.joint_count, .axis = -1};
    *bones = (px_bind_bones){0};
    bones->segments = PX_NEW(arena, px_bind_segment, (size_t)l.joint_count + subject->target_count);
    bones->reach = PX_NEW(arena, float, subject->target_count);
    bones->limit = PX_NEW(arena, float, subject->target_count);
    bones->heirs = PX_NEW(arena, uint32_t, subject->target_count);
    bones->handicap = PX_NEW(arena, float, subject->target_count);
    bones->behind = PX_NEW(arena, float, subject->target_count);
    l.parents = PX_NEW(arena, uint32_t, l.joint_count);
    l.deforms = PX_NEW(arena, bool, l.joint_count);
    l.marks = PX_NEW(arena, bool, l.joint_count);
    if (!bones->segments || !bones->reach || !bones->limit || !bones->heirs || !bones->handicap || !bones->behind ||
        !l.parents || !l.deforms || !l.marks)
        return PELT_ERROR_MEMORY;
    l.queue = PX_ALLOC(context, uint32_t, volume->voxels.count);
    l.seen = PX_ALLOC(context, uint8_t, volume->voxels.count);
    pelt_result result = l.queue && l.seen ? make_bones(context, arena, &l) : PELT_ERROR_MEMORY;
    px_free(context, l.queue);
    px_free(context, l.seen);
    return result;
}
