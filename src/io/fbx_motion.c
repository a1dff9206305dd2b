/* Curves of FBX files become motions: see fbx.h.
 *
 * A stack is a motion. Curves hold Euler angles and cubic pieces, which tracks cannot: nodes are sampled at the times of all keys and at the
 * file's frames.
 *
 * Layers of a stack are applied in their order: the first sets values, others add to them or take their place, by their weight.
 */
#include "io/fbx.h"

#define TICKS          46186158000.0 /* a second */
#define MAX_FRAMES     1000000.0
#define MAX_TURN       5.0 /* degrees between two keys */
#define CONSTANT       2u  /* interpolation in the flags of a key */
#define LINEAR         4u
#define CUBIC          8u
#define NEXT_VALUE     0x100u /* CONSTANT: the value of the next key */
#define WEIGHTED_RIGHT 0x1000000u
#define WEIGHTED_NEXT  0x2000000u

typedef struct key {
    double time, value;               /* seconds */
    uint32_t flags;                   /* of the piece to the next key */
    double right, next_left;          /* slopes at its ends, per second */
    double right_weight, next_weight; /* of the control points, of the piece's length */
} key;

typedef struct curve {
    key *keys; /* [count]; 0: a constant */
    size_t count;
    double value; /* without keys */
} curve;

/* ---- Curves ---------------------------------------------------------------------------------------------------- */

/* Attributes are shared: each stands for KeyAttrRefCount keys, and has four numbers: slopes, two weights in 16 bits each, velocities. */
static pelt_result read_attributes(px_fbx *fbx, const px_fbx_node *node, curve *out) {
    double *flags, *data, *counts;
    size_t flag_count, data_count, count_count, k = 0;
    const px_fbx_node *array = px_fbx_child(node, "KeyAttrDataFloat");
    bool text = px_fbx_at(array, 0) && px_fbx_at(array, 0)->type == 't';
    PX_TRY(px_fbx_numbers(fbx, px_fbx_child(node, "KeyAttrFlags"), &flags, &flag_count));
    PX_TRY(px_fbx_numbers(fbx, array, &data, &data_count));
    PX_TRY(px_fbx_numbers(fbx, px_fbx_child(node, "KeyAttrRefCount"), &counts, &count_count));
    for (size_t a = 0; a < flag_count && a < count_count; a++)
        for (double n = 0; n < counts[a] && k < out->count; n++, k++) {
            key *at = &out->keys[k];
            at->flags = flags[a] >= 0 && flags[a] <= UINT32_MAX ? (uint32_t)flags[a] : 0;
            if (4 * a + 3 >= data_count)
                continue;
            const double *d = data + 4 * a;
            uint32_t packed =
                text ? (d[2] >= 0 && d[2] <= UINT32_MAX ? (uint32_t)d[2] : 0) : px_float_bits((float)d[2]);
            at->right = isfinite(d[0]) ? d[0] : 0;
            at->next_left = isfinite(d[1]) ? d[1] : 0;
            at->right_weight = at->flags & WEIGHTED_RIGHT ? (packed & 0xFFFF) / 9999.0 : 1.0 / 3;
            at->next_weight = at->flags & WEIGHTED_NEXT ? (packed >> 16) / 9999.0 : 1.0 / 3;
        }
    return PELT_OK;
}

static pelt_result read_curve(px_fbx *fbx, const px_fbx_node *node, curve *out) {
    double *times, *values;
    size_t time_count, value_count;
    PX_TRY(px_fbx_numbers(fbx, px_fbx_child(node, "KeyTime"), &times, &time_count));
    PX_TRY(px_fbx_numbers(fbx, px_fbx_child(node, "KeyValueFloat"), &values, &value_count));
    size_t count = px_min_size(time_count, value_count);
    if (!(out->keys = PX_NEW(fbx->arena, key, count)))
        return PELT_ERROR_MEMORY;
    for (size_t k = 0; k < count; k++) {
        double time = times[k] / TICKS;
        if (!isfinite(values[k]) || !isfinite(time) || (out->count && time <= out->keys[out->count - 1].time))
            continue; /* keys that are out of order */
        out->keys[out->count++] =
            (key){.time = time, .value = values[k], .flags = LINEAR, .right_weight = 1.0 / 3, .next_weight = 1.0 / 3};
    }
    return out->count == count ? read_attributes(fbx, node, out) : PELT_OK;
}

/* The cubic Bézier curve through times 0, a, 1 − b, 1: the parameter at which it has this time. */
static double bezier_parameter(double time, double a, double b) {
    double low = 0, high = 1;
    for (int i = 0; i < 40; i++) {
        double s = (low + high) / 2, r = 1 - s;
        if (3 * r * r * s * a + 3 * r * s * s * (1 - b) + s * s * s < time)
            low = s;
        else
            high = s;
    }
    return (low + high) / 2;
}

static double cubic(const key *left, const key *right, double time) {
    double length = right->time - left->time, a = left->right_weight, b = left->next_weight;
    double s = a == 1.0 / 3 && b == 1.0 / 3 ? time / length : bezier_parameter(time / length, a, b), r = 1 - s;
    double from = left->value + left->right * a * length, to = right->value - left->next_left * b * length;
    return r * r * r * left->value + 3 * r * r * s * from + 3 * r * s * s * to + s * s * s * right->value;
}

static double curve_at(const curve *c, double time) {
    if (c->count == 0)
        return c->value;
    size_t low = 0, high = c->count; /* keys[low].time ≤ time < keys[high].time */
    if (time <= c->keys[0].time)
        return c->keys[0].value;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        *(c->keys[middle].time <= time ? &low : &high) = middle;
    }
    const key *left = &c->keys[low], *right = left + 1;
    if (high == c->count)
        return left->value;
    if (left->flags & CONSTANT)
        return left->flags & NEXT_VALUE ? right->value : left->value;
    if (left->flags & CUBIC)
        return cubic(left, right, time - left->time);
    return left->value + (right->value - left->value) * (time - left->time) / (right->time - left->time);
}

/* ---- Channels -------------------------------------------------------------------------------------------------- */

typedef struct layer {
    bool first;
    bool overrides;  /* values take the place of those of the layers before; else they are added */
    bool by_channel; /* Euler angles are added; else rotations are multiplied */
    bool adds_scale; /* scales are added; else multiplied */
    curve weight;    /* percent */
} layer;

/* What animates a node in a layer: three curves each of translation, rotation and scale. */
typedef struct node_curves {
    uint32_t joint;
    const layer *layer;
    uint32_t over;    /* number of its curves in the next layer that has some, from 1; 0: none */
    bool animated[3]; /* translation, rotation, scale */
    curve curves[3][3];
} node_curves;

/* What animates a blend shape channel in a layer. */
typedef struct channel_curve {
    const px_fbx_object *channel;
    const layer *layer;
    curve curve;
} channel_curve;

typedef struct stack {
    px_fbx *fbx;
    px_buffer nodes;    /* node_curves, in the order of the layers */
    uint32_t *firsts;   /* [joint] number of its curves in the first layer that has some, from 1; 0: none */
    px_buffer channels; /* channel_curve, in the same order */
    const layer *layer; /* that is read */
    bool layered;       /* a layer beside the first has curves */
    double start, end;  /* of all keys */
} stack;

static void include_keys(stack *s, const curve *c) {
    if (c->count && c->keys[0].time < s->start)
        s->start = c->keys[0].time;
    if (c->count && c->keys[c->count - 1].time > s->end)
        s->end = c->keys[c->count - 1].time;
}

/* The curve of a component ("d|X") of a curve node; without one its constant, if it has that. */
static pelt_result read_component(stack *s, const px_fbx_object *node, const char *name, curve *out) {
    for (uint32_t l = 0; l < s->fbx->link_count; l++) {
        const px_fbx_link *link = &s->fbx->links[l];
        if (link->parent == node && link->property.data && px_text_is(link->property, name) &&
            px_fbx_is(link->child, "AnimationCurve", NULL)) {
            PX_TRY(read_curve(s->fbx, link->child->node, out));
            include_keys(s, out);
            return PELT_OK;
        }
    }
    px_fbx_property(node, name, &out->value, 1);
    return PELT_OK;
}

static node_curves *node_at(const stack *s, uint32_t number) {
    return number ? (node_curves *)(void *)s->nodes.data + number - 1 : NULL;
}

/* Curves of a node in the current layer; without keys they are those of the rest pose, or change nothing. NULL: out of memory. */
static node_curves *curves_of(stack *s, const px_fbx_object *model) {
    node_curves *last = NULL;
    for (node_curves *n = node_at(s, s->firsts[model->joint]); n; n = node_at(s, n->over)) {
        if (n->layer == s->layer)
            return n;
        last = n;
    }
    uint32_t number = (uint32_t)(s->nodes.size / sizeof *last) + 1;
    *(last ? &last->over : &s->firsts[model->joint]) = number;
    node_curves new = {.joint = model->joint, .layer = s->layer};
    for (int c = 0; c < 3; c++) {
        new.curves[0][c].value = s->layer->first ? model->frame.translation[c] : 0;
        new.curves[1][c].value = s->layer->first ? model->frame.turn[c] : 0;
        new.curves[2][c].value = s->layer->first ? model->frame.scale[c] : !s->layer->adds_scale;
    }
    px_buffer_add(&s->nodes, &new, sizeof new);
    return s->nodes.failed ? NULL : node_at(s, number);
}

static pelt_result read_target(stack *s, const px_fbx_object *curve_node, const px_fbx_link *link) {
    static const char *const paths[] = {"Lcl Translation", "Lcl Rotation", "Lcl Scaling"}, *const axes[] = {
                                                                                               "d|X", "d|Y", "d|Z"};
    if (px_fbx_is(link->parent, "Deformer", "BlendShapeChannel") && px_text_is(link->property, "DeformPercent")) {
        channel_curve new = {.channel = link->parent, .layer = s->layer};
        s->layered |= !s->layer->first;
        PX_TRY(read_component(s, curve_node, "d|DeformPercent", &new.curve));
        px_buffer_add(&s->channels, &new, sizeof new);
        return s->channels.failed ? PELT_ERROR_MEMORY : PELT_OK;
    }
    for (int p = 0; p < 3; p++)
        if (px_fbx_is(link->parent, "Model", NULL) && link->parent->joint != PELT_NONE &&
            px_text_is(link->property, paths[p])) {
            node_curves *node = curves_of(s, link->parent);
            if (!node)
                return PELT_ERROR_MEMORY;
            s->layered |= !s->layer->first;
            node->animated[p] = true;
            for (int c = 0; c < 3; c++)
                PX_TRY(read_component(s, curve_node, axes[c], &node->curves[p][c]));
        }
    return PELT_OK;
}

static pelt_result read_layer(stack *s, const px_fbx_object *object) {
    for (px_fbx_object *node = NULL; (node = px_fbx_next_child(s->fbx, object, "AnimationCurveNode", NULL, node));)
        for (uint32_t l = 0; l < s->fbx->link_count; l++)
            if (s->fbx->links[l].child == node && s->fbx->links[l].property.data)
                PX_TRY(read_target(s, node, &s->fbx->links[l]));
    return PELT_OK;
}

/* The properties of a layer, and the curve of its weight. */
static pelt_result read_mode(stack *s, const px_fbx_object *object, layer *out) {
    double mode = 0, rotation = 0, scale = 0;
    px_fbx_property(object, "BlendMode", &mode, 1);
    px_fbx_property(object, "RotationAccumulationMode", &rotation, 1);
    px_fbx_property(object, "ScaleAccumulationMode", &scale, 1);
    out->overrides = mode != 0;
    out->by_channel = rotation != 0;
    out->adds_scale = scale != 0;
    out->weight.value = 100;
    px_fbx_property(object, "Weight", &out->weight.value, 1);
    for (uint32_t l = 0; l < s->fbx->link_count; l++) {
        const px_fbx_link *link = &s->fbx->links[l];
        if (link->parent == object && link->property.data && px_text_is(link->property, "Weight") &&
            px_fbx_is(link->child, "AnimationCurveNode", NULL))
            PX_TRY(read_component(s, link->child, "d|Weight", &out->weight));
    }
    return PELT_OK;
}

static pelt_result read_layers(stack *s, const px_fbx_object *object) {
    const layer *first = NULL;
    for (px_fbx_object *o = NULL; (o = px_fbx_next_child(s->fbx, object, "AnimationLayer", NULL, o));) {
        double muted = 0;
        layer *new = PX_NEW(s->fbx->arena, layer, 1);
        if (!new)
            return PELT_ERROR_MEMORY;
        px_fbx_property(o, "Mute", &muted, 1);
        if (muted != 0 && first)
            continue;
        PX_TRY(read_mode(s, o, new));
        new->first = !first;
        s->layer = new;
        PX_TRY(read_layer(s, o));
        first = first ? first : new;
    }
    s->layer = first;
    return PELT_OK;
}

/* Nodes that do not inherit the scale of an animated parent change with it. */
static pelt_result include_unscaled(stack *s) {
    for (uint32_t j = 0; j < s->fbx->read->model->skeleton.joint_count; j++) {
        const px_fbx_object *node = s->fbx->joints[j];
        bool animated = false;
        for (const node_curves *n = node->frame.unscaled ? node_at(s, s->firsts[node->above->joint]) : NULL; n;
             n = node_at(s, n->over))
            animated |= n->curves[2][0].count > 0;
        if (animated && !s->firsts[j] && !curves_of(s, node))
            return PELT_ERROR_MEMORY;
    }
    return PELT_OK;
}

/* ---- Motions --------------------------------------------------------------------------------------------------- */

/* Adds a track. Values of the rest pose are left out, unless no other track tells how long the motion is. */
static pelt_result add_track(px_fbx *fbx, pelt_motion *motion, pelt_track track, const float *rest) {
    bool constant;
    PX_TRY(px_track_shorten(fbx->read->model->memory, &track, &constant));
    if (constant && motion->track_count && memcmp(track.values, rest, track.width * sizeof *rest) == 0)
        return PELT_OK;
    motion->tracks[motion->track_count++] = track;
    return PELT_OK;
}

/* The rotation by a part of the angle of another. */
static px_rotation part_of(px_rotation a, double part) {
    double length = sqrt(a.q[0] * a.q[0] + a.q[1] * a.q[1] + a.q[2] * a.q[2]), sign = a.q[3] < 0 ? -1 : 1;
    double angle = part * px_atan2(length, fabs(a.q[3])), factor = length > 0 ? sign * px_sin(angle) / length : 0;
    return (px_rotation){{factor * a.q[0], factor * a.q[1], factor * a.q[2], px_cos(angle)}};
}

/* A power of a scale. Mirrored ones have none, and are kept or left out. */
static double part_of_scale(double scale, double part) {
    return part == 1 ? scale : scale > 0 ? px_pow(scale, part) : part > 0.5 ? scale : 1;
}

/* Lcl values of a node at a time. */
typedef struct node_values {
    double translation[3], scale[3];
    px_rotation turn;
} node_values;

/* Adds or mixes numbers of a layer. */
static void blend(const layer *l, double weight, const double layer_values[3], double out[3]) {
    for (int c = 0; c < 3; c++)
        out[c] += weight * (layer_values[c] - (l->overrides ? out[c] : 0));
}

/* Applies one layer. `angles` are the sum of Euler angles so far, while layers by channel follow the first. */
static void apply_layer(const node_curves *node, const px_fbx_frame *frame, double time, node_values *v,
                        double angles[3]) {
    const layer *l = node->layer;
    double weight = l->first ? 1 : curve_at(&l->weight, time) / 100, now[3][3];
    for (int p = 0; p < 3; p++)
        for (int c = 0; c < 3; c++)
            now[p][c] = curve_at(&node->curves[p][c], time);
    if (l->first) {
        memcpy(v->translation, now[0], sizeof v->translation);
        memcpy(angles, now[1], sizeof now[1]);
        memcpy(v->scale, now[2], sizeof v->scale);
        v->turn = px_fbx_turn(angles, frame->order);
        return;
    }
    if (node->animated[0])
        blend(l, weight, now[0], v->translation);
    if (node->animated[1] && l->by_channel) {
        blend(l, weight, now[1], angles);
        v->turn = px_fbx_turn(angles, frame->order);
    } else if (node->animated[1]) {
        px_rotation turn = px_fbx_turn(now[1], frame->order);
        if (l->overrides)
            turn = px_rotation_mul(px_rotation_inverse(v->turn), turn);
        v->turn = px_rotation_mul(v->turn, part_of(turn, weight));
    }
    if (node->animated[2] && l->adds_scale)
        blend(l, weight, now[2], v->scale);
    for (int c = 0; c < 3 && node->animated[2] && !l->adds_scale; c++)
        v->scale[c] =
            (l->overrides ? part_of_scale(v->scale[c], 1 - weight) : v->scale[c]) * part_of_scale(now[2][c], weight);
}

static node_values values_at(const stack *s, const px_fbx_object *model, double time) {
    node_values v = {.turn = px_fbx_turn(model->frame.turn, model->frame.order)};
    double angles[3];
    memcpy(angles, model->frame.turn, sizeof angles);
    memcpy(v.translation, model->frame.translation, sizeof v.translation);
    memcpy(v.scale, model->frame.scale, sizeof v.scale);
    for (const node_curves *n = node_at(s, s->firsts[model->joint]); n; n = node_at(s, n->over))
        apply_layer(n, &model->frame, time, &v, angles);
    return v;
}

static pelt_result sample_node(const stack *s, uint32_t joint, const double *seconds, const float *times,
                               uint32_t frame_count, pelt_motion *motion) {
    pelt_model *model = s->fbx->read->model;
    const px_fbx_object *object = s->fbx->joints[joint], *parent = object->frame.unscaled ? object->above : NULL;
    float *translations = PX_NEW(model->memory, float, (size_t)3 * frame_count);
    float *rotations = PX_NEW(model->memory, float, (size_t)4 * frame_count);
    float *scales = PX_NEW(model->memory, float, (size_t)3 * frame_count);
    if (!translations || !rotations || !scales)
        return PELT_ERROR_MEMORY;
    for (uint32_t k = 0; k < frame_count; k++) {
        node_values v = values_at(s, object, seconds[k]), above;
        if (parent)
            above = values_at(s, parent, seconds[k]);
        pelt_transform local =
            px_fbx_local(&object->frame, v.translation, v.turn, v.scale, parent ? above.scale : NULL);
        float *q = rotations + (size_t)4 * k;
        memcpy(translations + (size_t)3 * k, local.translation, sizeof local.translation);
        memcpy(q, local.rotation, sizeof local.rotation);
        memcpy(scales + (size_t)3 * k, local.scale, sizeof local.scale);
        /* Consecutive quaternions get the same sign: some players do not choose the shorter arc. */
        if (k && q[0] * q[-4] + q[1] * q[-3] + q[2] * q[-2] + q[3] * q[-1] < 0)
            for (int c = 0; c < 4; c++)
                q[c] = -q[c];
    }
    const pelt_transform *rest = &model->skeleton.rest[joint];
    pelt_track track = {.joint = joint,
                        .key_count = frame_count,
                        .times = times,
                        .path = PELT_PATH_TRANSLATION,
                        .width = 3,
                        .values = translations};
    PX_TRY(add_track(s->fbx, motion, track, rest->translation));
    track.path = PELT_PATH_ROTATION, track.width = 4, track.values = rotations;
    PX_TRY(add_track(s->fbx, motion, track, rest->rotation));
    track.path = PELT_PATH_SCALE, track.width = 3, track.values = scales;
    return add_track(s->fbx, motion, track, rest->scale);
}

/* The percentage of a blend shape channel at a time; *percent is kept where nothing animates it. */
static bool channel_at(const stack *s, const px_fbx_object *channel, double time, double *percent) {
    const channel_curve *list = (const channel_curve *)(const void *)s->channels.data;
    bool found = false;
    for (size_t c = 0; c < s->channels.size / sizeof *list; c++)
        if (list[c].channel == channel) {
            const layer *l = list[c].layer;
            double weight = l->first ? 1 : curve_at(&l->weight, time) / 100;
            *percent += weight * (curve_at(&list[c].curve, time) - (l->first || l->overrides ? *percent : 0));
            found = true;
        }
    return found;
}

/* Weights of the morph targets of a joint, morphs [first, end). */
static pelt_result sample_weights(const stack *s, const px_fbx_shape *shapes, uint32_t first, uint32_t end,
                                  const double *seconds, const float *times, uint32_t frame_count,
                                  pelt_motion *motion) {
    pelt_model *model = s->fbx->read->model;
    uint32_t width = end - first;
    float *values = PX_NEW(model->memory, float, px_mul_size(width, frame_count)),
          *rest = PX_NEW(s->fbx->arena, float, width);
    bool animated = false;
    if (!values || !rest)
        return PELT_ERROR_MEMORY;
    for (uint32_t m = first; m < end; m++) {
        double still = 0;
        px_fbx_property(shapes[m].channel, "DeformPercent", &still, 1);
        rest[m - first] = model->morphs.morphs[m].weight;
        for (uint32_t k = 0; k < frame_count; k++) {
            double percent = still;
            bool moves = channel_at(s, shapes[m].channel, seconds[k], &percent);
            animated |= moves;
            values[(size_t)k * width + m - first] =
                moves ? (float)px_fbx_shape_weight(&shapes[m], percent) : rest[m - first];
        }
    }
    if (!animated)
        return PELT_OK;
    pelt_track track = {.joint = model->morphs.morphs[first].joint,
                        .path = PELT_PATH_WEIGHTS,
                        .width = width,
                        .key_count = frame_count,
                        .times = times,
                        .values = values};
    return add_track(s->fbx, motion, track, rest);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void add_key_times(const curve *c, double *seconds, size_t *count) {
    for (size_t k = 0; k < c->count; k++)
        seconds[(*count)++] = c->keys[k].time;
}

/* Whether a curve changes between two times by a cubic piece, or by more than MAX_TURN. */
static bool bends(const curve *c, double from, double to, double most) {
    double middle = (from + to) / 2;
    for (size_t k = 0; k + 1 < c->count; k++)
        if (c->keys[k].time <= middle && middle < c->keys[k + 1].time && c->keys[k].flags & CUBIC)
            return true;
    return fabs(curve_at(c, to) - curve_at(c, from)) > most;
}

static bool any_bends(const stack *s, double from, double to) {
    const node_curves *nodes = (const node_curves *)(const void *)s->nodes.data;
    const channel_curve *channels = (const channel_curve *)(const void *)s->channels.data;
    bool found = s->layered; /* products of rotations and scales */
    for (size_t n = 0; !found && n < 9 * (s->nodes.size / sizeof *nodes); n++)
        found = bends(&nodes[n / 9].curves[n % 9 / 3][n % 3], from, to, n % 9 / 3 == 1 ? MAX_TURN : INFINITY);
    for (size_t c = 0; !found && c < s->channels.size / sizeof *channels; c++)
        found = bends(&channels[c].curve, from, to, INFINITY);
    return found;
}

/* The times of all keys, and between them those of the file's frames where a curve bends: lines need no more keys, as long as Euler angles
 * change little. Times that are closer than a hundredth of a frame are one. */
static pelt_result sample_times(const stack *s, double **out, uint32_t *out_count) {
    const node_curves *nodes = (const node_curves *)(const void *)s->nodes.data;
    const channel_curve *channels = (const channel_curve *)(const void *)s->channels.data;
    double fps = s->fbx->fps, frames = floor((s->end - s->start) * fps);
    size_t most = 0, key_count = 0, count = 0, node_count = s->nodes.size / sizeof *nodes,
           channel_count = s->channels.size / sizeof *channels;
    if (!(frames < MAX_FRAMES) || !isfinite((float)s->start))
        return px_fail(s->fbx->context, PELT_ERROR_INPUT, "an animation has keys from %g to %g seconds: too long",
                       s->start, s->end);
    for (size_t n = 0; n < 9 * node_count; n++)
        most += nodes[n / 9].curves[n % 9 / 3][n % 3].count;
    for (size_t c = 0; c < channel_count; c++)
        most += channels[c].curve.count;
    double *keys = PX_NEW(s->fbx->arena, double, most),
           *seconds = PX_NEW(s->fbx->arena, double, most + (size_t)frames + 1);
    if (!keys || !seconds)
        return PELT_ERROR_MEMORY;
    for (size_t n = 0; n < 9 * node_count; n++)
        add_key_times(&nodes[n / 9].curves[n % 9 / 3][n % 3], keys, &key_count);
    for (size_t c = 0; c < channel_count; c++)
        add_key_times(&channels[c].curve, keys, &key_count);
    px_sort(keys, key_count, sizeof *keys, by_value);
    for (size_t k = 0; k < key_count; k++) {
        double before = count ? seconds[count - 1] : 0, apart = 0.01 / fps;
        if (count && keys[k] <= before + apart)
            continue;
        if (count && keys[k] - before > 1 / fps && any_bends(s, before, keys[k]))
            for (double f = floor((before - s->start) * fps) + 1; s->start + f / fps < keys[k] - apart; f++)
                if (s->start + f / fps > before + apart)
                    seconds[count++] = s->start + f / fps;
        seconds[count++] = keys[k];
    }
    *out = seconds;
    *out_count = (uint32_t)count;
    return PELT_OK;
}

static pelt_result sample(const stack *s, const px_fbx_shape *shapes, pelt_motion *motion) {
    px_fbx *fbx = s->fbx;
    pelt_model *model = fbx->read->model;
    const node_curves *nodes = (const node_curves *)(const void *)s->nodes.data;
    size_t node_count = s->nodes.size / sizeof *nodes;
    double *seconds = NULL;
    uint32_t frame_count = 0;
    PX_TRY(sample_times(s, &seconds, &frame_count));
    float *times = PX_NEW(model->memory, float, frame_count);
    motion->tracks = PX_NEW(model->memory, pelt_track, 3 * node_count + model->skeleton.joint_count);
    if (!times || !motion->tracks)
        return PELT_ERROR_MEMORY;
    for (uint32_t k = 0; k < frame_count; k++) {
        times[k] = (float)(seconds[k] - (s->start < 0 ? s->start : 0)); /* glTF has no times below 0 */
        if (k && times[k] <= times[k - 1])
            return px_fail(fbx->context, PELT_ERROR_INPUT, "the animation '%s' has too many frames", motion->name);
    }
    for (size_t n = 0; n < node_count; n++)
        if (s->firsts[nodes[n].joint] == n + 1)
            PX_TRY(sample_node(s, nodes[n].joint, seconds, times, frame_count, motion));
    for (uint32_t first = 0, end; first < model->morphs.morph_count; first = end) {
        for (end = first;
             end < model->morphs.morph_count && model->morphs.morphs[end].joint == model->morphs.morphs[first].joint;)
            end++;
        PX_TRY(sample_weights(s, shapes, first, end, seconds, times, frame_count, motion));
    }
    motion->start = times[0];
    motion->end = times[frame_count - 1];
    return PELT_OK;
}

static pelt_result read_stack(stack *s, const px_fbx_object *object, const px_fbx_shape *shapes, pelt_motion *motion) {
    if (!px_fbx_next_child(s->fbx, object, "AnimationLayer", NULL, NULL))
        return PELT_OK;
    if (!(motion->name = px_fbx_name(s->fbx, object->name)))
        return PELT_ERROR_MEMORY;
    if (!(s->firsts = PX_NEW(s->fbx->arena, uint32_t, s->fbx->read->model->skeleton.joint_count)))
        return PELT_ERROR_MEMORY;
    PX_TRY(read_layers(s, object));
    PX_TRY(include_unscaled(s));
    return s->end >= s->start ? sample(s, shapes, motion) : PELT_OK;
}

pelt_result px_fbx_read_motions(px_fbx *fbx, const px_fbx_shape *shapes) {
    pelt_model *model = fbx->read->model;
    uint32_t count = 0;
    for (uint32_t o = 0; o < fbx->object_count; o++)
        count += px_fbx_is(&fbx->objects[o], "AnimationStack", NULL);
    if (!(model->motions = PX_NEW(model->memory, pelt_motion, count)))
        return PELT_ERROR_MEMORY;
    for (px_fbx_object *object = fbx->first_object; object; object = object->next) {
        if (!px_fbx_is(object, "AnimationStack", NULL))
            continue;
        stack s = {.fbx = fbx,
                   .nodes.context = fbx->context,
                   .channels.context = fbx->context,
                   .start = INFINITY,
                   .end = -INFINITY};
        pelt_motion motion = {0};
        pelt_result result = read_stack(&s, object, shapes, &motion);
        px_buffer_free(&s.nodes);
        px_buffer_free(&s.channels);
        PX_TRY(result);
        if (motion.track_count)
            model->motions[model->motion_count++] = motion;
    }
    return PELT_OK;
}
