/* Objects, connections and nodes of FBX files: see fbx.h.
 *
 * The local transform of a node is T · Roff · Rp · Rpre · R · Rpost⁻¹ · Rp⁻¹ · Soff · Sp · S · Sp⁻¹. Its linear part is a rotation times a
 * scale along the axes, so it is one translation, rotation and scale:
 *   rotation = Rpre · R · Rpost⁻¹,  scale = S,
 *   translation = T + Roff + Rp + rotation · (Soff + Sp − S · Sp − Rp)
 */
#include "io/fbx.h"

/* ---- Objects and connections --------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b) {
    int64_t x = ((const px_fbx_object *)a)->id, y = ((const px_fbx_object *)b)->id;
    return (x > y) - (x < y);
}

/* "Cube\0\1Model" in binary files, "Model::Cube" in text files. */
static px_text plain_name(px_text name) {
    for (size_t i = 0; i + 1 < name.size; i++) {
        if (name.data[i] == 0 && name.data[i + 1] == 1)
            return (px_text){name.data, i};
        if (name.data[i] == ':' && name.data[i + 1] == ':')
            return (px_text){name.data + i + 2, name.size - i - 2};
    }
    return name;
}

static px_fbx_object *find_object(const px_fbx *fbx, int64_t id) {
    uint32_t low = 0, high = fbx->object_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (fbx->objects[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < fbx->object_count && fbx->objects[low].id == id ? &fbx->objects[low] : NULL;
}

static pelt_result read_objects(px_fbx *fbx) {
    const px_fbx_node *list = px_fbx_child(fbx->root, "Objects");
    size_t count = 0;
    for (const px_fbx_node *node = list ? list->first : NULL; node; node = node->next)
        count++;
    if (count >= PELT_NONE)
        return px_fail(fbx->context, PELT_ERROR_UNSUPPORTED, "has too many objects");
    if (!(fbx->objects = PX_NEW(fbx->arena, px_fbx_object, count)))
        return PELT_ERROR_MEMORY;
    for (const px_fbx_node *node = list ? list->first : NULL; node; node = node->next) {
        const px_fbx_value *id = px_fbx_at(node, 0), *name = px_fbx_at(node, 1), *kind = px_fbx_at(node, 2);
        if (!id || id->kind != PX_FBX_INTEGER || !name || name->kind != PX_FBX_TEXT)
            continue;
        fbx->objects[fbx->object_count++] =
            (px_fbx_object){.id = id->integer,
                            .node = node,
                            .properties = px_fbx_child(node, "Properties70"),
                            .name = plain_name(name->text),
                            .kind = kind && kind->kind == PX_FBX_TEXT ? kind->text : (px_text){"", 0},
                            .joint = PELT_NONE};
    }
    if (fbx->object_count)
        px_sort(fbx->objects, fbx->object_count, sizeof *fbx->objects, by_id);
    for (uint32_t o = 1; o < fbx->object_count; o++)
        if (fbx->objects[o].id == fbx->objects[o - 1].id)
            return px_fail(fbx->context, PELT_ERROR_INPUT, "two objects have the number %lld",
                           (long long)fbx->objects[o].id);
    px_fbx_object **link = &fbx->first_object;
    for (const px_fbx_node *node = list ? list->first : NULL; node; node = node->next) {
        const px_fbx_value *id = px_fbx_at(node, 0);
        px_fbx_object *object = id && id->kind == PX_FBX_INTEGER ? find_object(fbx, id->integer) : NULL;
        if (object && object->node == node) {
            *link = object;
            link = &object->next;
        }
    }
    return PELT_OK;
}

static pelt_result read_links(px_fbx *fbx) {
    const px_fbx_node *list = px_fbx_child(fbx->root, "Connections");
    size_t count = 0;
    for (const px_fbx_node *node = list ? list->first : NULL; node; node = node->next)
        count++;
    if (count >= PELT_NONE)
        return px_fail(fbx->context, PELT_ERROR_UNSUPPORTED, "has too many connections");
    if (!(fbx->links = PX_NEW(fbx->arena, px_fbx_link, count)))
        return PELT_ERROR_MEMORY;
    for (const px_fbx_node *node = list ? list->first : NULL; node; node = node->next) {
        const px_fbx_value *sort = px_fbx_at(node, 0), *from = px_fbx_at(node, 1), *to = px_fbx_at(node, 2),
                           *name = px_fbx_at(node, 3);
        if (!sort || sort->kind != PX_FBX_TEXT || !from || from->kind != PX_FBX_INTEGER || !to ||
            to->kind != PX_FBX_INTEGER)
            continue;
        px_fbx_link link = {.child = find_object(fbx, from->integer), .parent = find_object(fbx, to->integer)};
        if (px_text_is(sort->text, "OP") && name && name->kind == PX_FBX_TEXT)
            link.property = name->text;
        if (link.child && (link.parent || to->integer == 0))
            fbx->links[fbx->link_count++] = link;
    }
    return PELT_OK;
}

bool px_fbx_is(const px_fbx_object *object, const char *name, const char *kind) {
    return object && px_text_is(object->node->name, name) && (!kind || px_text_is(object->kind, kind));
}

/* Whether link l connects two objects that an earlier one connects already. */
static bool is_repeated(const px_fbx *fbx, uint32_t l) {
    const px_fbx_link *link = &fbx->links[l];
    for (uint32_t e = 0; e < l; e++)
        if (fbx->links[e].child == link->child && fbx->links[e].parent == link->parent && !fbx->links[e].property.data)
            return true;
    return false;
}

/* Connections are searched from the start: files have a few thousand, and each object is asked a few times. Repeated ones do not
 * count: the objects behind one would come again and again. */
px_fbx_object *px_fbx_next_child(const px_fbx *fbx, const px_fbx_object *parent, const char *name, const char *kind,
                                 const px_fbx_object *last) {
    bool found = last == NULL;
    for (uint32_t l = 0; l < fbx->link_count; l++) {
        const px_fbx_link *link = &fbx->links[l];
        if (link->parent != parent || link->property.data)
            continue;
        if (found && px_fbx_is(link->child, name, kind) && !is_repeated(fbx, l))
            return link->child;
        found |= link->child == last;
    }
    return NULL;
}

/* ---- Properties ------------------------------------------------------------------------------------------------ */

static const px_fbx_node *find_property(const px_fbx_node *properties, const char *name) {
    for (const px_fbx_node *p = properties ? properties->first : NULL; p; p = p->next) {
        const px_fbx_value *value = px_fbx_at(p, 0);
        if (value && value->kind == PX_FBX_TEXT && px_text_is(value->text, name))
            return p;
    }
    return NULL;
}

/* Values follow name, type, label and flags. */
static bool property_values(const px_fbx_node *properties, const char *name, double *values, int width) {
    const px_fbx_node *p = find_property(properties, name);
    for (int i = 0; p && i < width; i++) {
        const px_fbx_value *value = px_fbx_at(p, 4 + (uint32_t)i);
        if (value && (value->kind == PX_FBX_INTEGER || value->kind == PX_FBX_NUMBER) && isfinite(value->number))
            values[i] = value->number;
    }
    return p != NULL;
}

bool px_fbx_property(const px_fbx_object *object, const char *name, double *values, int width) {
    return property_values(object->properties, name, values, width);
}

const char *px_fbx_name(px_fbx *fbx, px_text name) {
    return px_arena_text(fbx->read->model->memory, name.data ? name.data : "", name.size);
}

bool px_fbx_matrix(const double m[16], pelt_affine *out) {
    bool finite = true;
    for (int row = 0; row < 3; row++)
        for (int column = 0; column < 4; column++) {
            out->m[4 * row + column] = (float)m[4 * column + row];
            finite &= isfinite(out->m[4 * row + column]);
        }
    return finite;
}

/* ---- Transforms ------------------------------------------------------------------------------------------------ */

/* Euler angles in degrees; order 0 turns about x first, then y, then z. */
px_rotation px_fbx_turn(const double degrees[3], int order) {
    static const uint8_t axes[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 2, 0}, {1, 0, 2}, {2, 0, 1}, {2, 1, 0}};
    px_rotation turn = px_rotation_identity();
    for (int i = 0; i < 3; i++) {
        int axis = axes[order][i];
        turn = px_rotation_mul(px_rotation_about(axis, degrees[axis] * PX_DEGREE), turn);
    }
    return turn;
}

pelt_transform px_fbx_local(const px_fbx_frame *frame, const double translation[3], px_rotation turn,
                            const double scale[3], const double parent_scale[3]) {
    px_rotation rotation = px_rotation_mul(px_rotation_mul(frame->before, turn), frame->after);
    /* An even scale of the parent is divided out; for others, joints have no place for the division. */
    bool divide = frame->unscaled && parent_scale && fabs(parent_scale[0]) > 1e-12;
    double moved[3], factor = divide ? 1 / fabs(parent_scale[0]) : 1;
    for (int c = 0; c < 3; c++)
        moved[c] = frame->scaling_offset[c] + frame->scaling_pivot[c] - scale[c] * frame->scaling_pivot[c] -
                   frame->rotation_pivot[c];
    px_rotation_apply(rotation, moved, moved);
    pelt_transform local;
    for (int c = 0; c < 3; c++) {
        local.translation[c] =
            (float)(translation[c] + frame->rotation_offset[c] + frame->rotation_pivot[c] + moved[c]);
        local.scale[c] = (float)(scale[c] * factor);
    }
    px_rotation_store(rotation, local.rotation);
    return local;
}

static void read_frame(px_fbx_object *node) {
    px_fbx_frame *frame = &node->frame;
    *frame = (px_fbx_frame){.scale = {1, 1, 1}, .before = px_rotation_identity(), .after = px_rotation_identity()};
    px_fbx_property(node, "Lcl Translation", frame->translation, 3);
    px_fbx_property(node, "Lcl Rotation", frame->turn, 3);
    px_fbx_property(node, "Lcl Scaling", frame->scale, 3);
    px_fbx_property(node, "RotationOffset", frame->rotation_offset, 3);
    px_fbx_property(node, "RotationPivot", frame->rotation_pivot, 3);
    px_fbx_property(node, "ScalingOffset", frame->scaling_offset, 3);
    px_fbx_property(node, "ScalingPivot", frame->scaling_pivot, 3);
    double active = 0, order = 0, before[3] = {0}, after[3] = {0};
    px_fbx_property(node, "RotationActive", &active, 1);
    if (active == 0) /* then the others have no effect */
        return;
    px_fbx_property(node, "RotationOrder", &order, 1);
    px_fbx_property(node, "PreRotation", before, 3);
    px_fbx_property(node, "PostRotation", after, 3);
    frame->order = order >= 1 && order <= 5 ? (int)order : 0; /* 6, spheric, is turned like xyz */
    frame->before = px_fbx_turn(before, 0);
    frame->after = px_rotation_inverse(px_fbx_turn(after, 0));
}

/* How a node inherits the scale of its parent: 0 RrSs, 1 RSrs, 2 Rrs. A chain of joints is RSrs. With an even scale of the parent 0 is the
 * same, and 2 divides it out; other scales cannot be expressed. Returns false for these. */
static bool inherit_scale(px_fbx_object *node) {
    double kind = 1;
    px_fbx_property(node, "InheritType", &kind, 1);
    if (!node->above || kind == 1)
        return true;
    node->frame.unscaled = kind == 2;
    const double *scale = node->above->frame.scale;
    return fabs(scale[0] - scale[1]) <= 1e-4 * fabs(scale[0]) && fabs(scale[0] - scale[2]) <= 1e-4 * fabs(scale[0]);
}

/* ---- Joints ---------------------------------------------------------------------------------------------------- */

typedef struct walk {
    px_fbx *fbx;
    pelt_skeleton *skeleton;
    uint32_t uneven_count;
} walk;

static pelt_result add_joint(walk *w, px_fbx_object *node, const px_fbx_object *parent) {
    uint32_t j = w->skeleton->joint_count;
    node->joint = j;
    node->above = parent;
    read_frame(node);
    w->uneven_count += !inherit_scale(node);
    w->fbx->joints[j] = node;
    const px_fbx_value *original = px_fbx_at(find_property(node->properties, PX_FBX_ORIGINAL_NAME), 4);
    bool renamed = original && original->kind == PX_FBX_TEXT;
    if (!(w->skeleton->names[j] = px_fbx_name(w->fbx, renamed ? original->text : node->name)))
        return PELT_ERROR_MEMORY;
    w->skeleton->parents[j] = parent ? parent->joint : PELT_NONE;
    w->skeleton->rest[j] =
        px_fbx_local(&node->frame, node->frame.translation, px_fbx_turn(node->frame.turn, node->frame.order),
                     node->frame.scale, parent ? parent->frame.scale : NULL);
    w->skeleton->joint_count++;
    return PELT_OK;
}

/* Where the links of a parent are in the order of sort_links. */
static size_t link_slot(const px_fbx *fbx, const px_fbx_object *parent) {
    return parent ? (size_t)(parent - fbx->objects) + 1 : 0;
}

/* Links sorted by their parent, in the order of the file: those of slot s are order[firsts[s] … firsts[s + 1]]. */
static pelt_result sort_links(px_fbx *fbx, uint32_t **firsts, uint32_t **order) {
    uint32_t *next = PX_NEW(fbx->arena, uint32_t, (size_t)fbx->object_count + 3);
    *order = PX_NEW(fbx->arena, uint32_t, fbx->link_count);
    if (!next || !*order)
        return PELT_ERROR_MEMORY;
    for (uint32_t l = 0; l < fbx->link_count; l++)
        next[link_slot(fbx, fbx->links[l].parent) + 2]++;
    for (size_t s = 2; s < (size_t)fbx->object_count + 3; s++)
        next[s] += next[s - 1];
    for (uint32_t l = 0; l < fbx->link_count; l++) /* next[s + 1] moves from the first link of s to that of s + 1 */
        (*order)[next[link_slot(fbx, fbx->links[l].parent) + 1]++] = l;
    *firsts = next;
    return PELT_OK;
}

/* Adds the nodes below a joint (NULL: the scene). A node that is connected twice keeps its first place. */
static pelt_result add_children(walk *w, const px_fbx_object *parent, const uint32_t *firsts, const uint32_t *order) {
    size_t slot = link_slot(w->fbx, parent);
    for (uint32_t l = firsts[slot]; l < firsts[slot + 1]; l++) {
        const px_fbx_link *link = &w->fbx->links[order[l]];
        if (!link->property.data && px_fbx_is(link->child, "Model", NULL) && link->child->joint == PELT_NONE)
            PX_TRY(add_joint(w, link->child, parent));
    }
    return PELT_OK;
}

/* Joints in the order of the connections, parents first: roots, then the children of each joint. */
static pelt_result read_joints(px_fbx *fbx) {
    pelt_model *model = fbx->read->model;
    uint32_t count = 0;
    for (uint32_t o = 0; o < fbx->object_count; o++)
        count += px_fbx_is(&fbx->objects[o], "Model", NULL);
    walk w = {.fbx = fbx, .skeleton = &model->skeleton};
    fbx->joints = PX_NEW(fbx->arena, px_fbx_object *, count);
    model->skeleton.names = PX_NEW(model->memory, const char *, count);
    model->skeleton.parents = PX_NEW(model->memory, uint32_t, count);
    model->skeleton.rest = PX_NEW(model->memory, pelt_transform, count);
    if (!fbx->joints || !model->skeleton.names || !model->skeleton.parents || !model->skeleton.rest)
        return PELT_ERROR_MEMORY;
    uint32_t *firsts, *order;
    PX_TRY(sort_links(fbx, &firsts, &order));
    PX_TRY(add_children(&w, NULL, firsts, order));
    uint32_t next = 0;
    for (uint32_t o = 0; o <= fbx->object_count; o++) {
        for (; next < model->skeleton.joint_count; next++)
            PX_TRY(add_children(&w, fbx->joints[next], firsts, order));
        /* Then nodes that are connected to none of these, as further roots. */
        if (o < fbx->object_count && px_fbx_is(&fbx->objects[o], "Model", NULL) && fbx->objects[o].joint == PELT_NONE)
            PX_TRY(add_joint(&w, &fbx->objects[o], NULL));
    }
    if (w.uneven_count)
        px_log(fbx->context, PELT_LOG_WARNING,
               "%u nodes inherit the scale of a stretched parent in a way that joints cannot; they may look different",
               w.uneven_count);
    return PELT_OK;
}

/* Frames per second of the file's time mode; 0: not given. */
static double frame_rate(const px_fbx_node *settings) {
    static const double rates[] = {30,    120, 100, 60,   50,     48, 30, 30, 29.97,
                                   29.97, 25,  24,  1000, 23.976, 0,  96, 72, 59.94};
    double mode = 0, custom = 0;
    property_values(settings, "TimeMode", &mode, 1);
    property_values(settings, "CustomFrameRate", &custom, 1);
    double rate = mode >= 0 && mode < PX_COUNT(rates) ? rates[(int)mode] : 0;
    return rate > 0 ? rate : custom > 0 && custom < 1000 ? custom : 30;
}

pelt_result px_fbx_read_scene(px_fbx *fbx) {
    fbx->fps = frame_rate(px_fbx_child(px_fbx_child(fbx->root, "GlobalSettings"), "Properties70"));
    PX_TRY(read_objects(fbx));
    PX_TRY(read_links(fbx));
    return read_joints(fbx);
}
