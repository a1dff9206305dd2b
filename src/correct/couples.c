/* Couples: pairs of bones that influence a common class. With T_jk the linear part of bone j in frame k and w the
 * weights of a class,
 *
 *   BᵀB = Σ_jl w_j w_l T_jᵀ T_l = Σ_couples factor · Q_k,   Q_k = T_jᵀ T_l + T_lᵀ T_j
 *
 * There are far fewer couples than classes. Sums over frames are therefore computed once per couple instead of once per
 * class, and sums over classes once per couple instead of once per frame. */
#include "correct/correct.h"

/* ---- Couples ---------------------------------------------------------------------------------------------- */

typedef struct finder {
    px_correction *c;
    uint32_t *latest;     /* [bone] 1 + the latest couple with this lower bone: head of a linked list */
    uint32_t *before;     /* [couple] 1 + the next couple of the list; 0: end */
    uint32_t (*bones)[2]; /* [couple] lower and higher bone */
} finder;

static uint32_t bones_of(const px_correction *c, uint32_t class) {
    const pelt_skin *skin = &c->model->skin;
    const float *weights = skin->weights + (size_t)pelt_class_vertex(&c->classes, class) * skin->influence_count;
    uint32_t count = 0;
    while (count < skin->influence_count && weights[count] != 0)
        count++;
    return count;
}

static uint32_t couple_of(finder *f, uint32_t a, uint32_t b) {
    uint32_t *head = &f->latest[a < b ? a : b], other = a < b ? b : a, couple = *head;
    while (couple && f->bones[couple - 1][1] != other)
        couple = f->before[couple - 1];
    if (!couple) {
        couple = ++f->c->couple_count;
        f->bones[couple - 1][0] = a < b ? a : b;
        f->bones[couple - 1][1] = other;
        f->before[couple - 1] = *head;
        *head = couple;
    }
    return couple - 1;
}

static void use_couples(finder *f, uint32_t class) {
    px_correction *c = f->c;
    const pelt_skin *skin = &c->model->skin;
    size_t row = (size_t)pelt_class_vertex(&c->classes, class) * skin->influence_count, count = bones_of(c, class);
    px_couple_use *use = c->uses + c->class_uses[class];
    for (size_t a = row; a < row + count; a++)
        for (size_t b = row; b <= a; b++)
            *use++ = (px_couple_use){class, couple_of(f, skin->bones[a], skin->bones[b]),
                                     (a == b ? 0.5 : 1.0) * (double)skin->weights[a] * (double)skin->weights[b]};
}

/* Counting sort of the uses by couple, in the order of classes. */
static void sort_uses(px_correction *c) {
    uint32_t count = c->class_uses[c->classes.count], *next = c->couple_uses + 1; /* offset by 1: becomes couple_uses */
    for (uint32_t n = 0; n < count; n++)
        next[c->uses[n].couple + 1]++;
    for (uint32_t p = 0; p < c->couple_count; p++)
        next[p + 1] += next[p];
    for (uint32_t n = 0; n < count; n++)
        c->sorted[next[c->uses[n].couple]++] = n;
}

/* ---- Squares ---------------------------------------------------------------------------------------------- */

typedef struct squares_work {
    const px_correction *c;
    uint32_t (*bones)[2]; /* [couple] */
} squares_work;

static pelt_result squares_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const squares_work *s = user;
    const px_correction *c = s->c;
    size_t bones = c->model->skin.bone_count, frames = c->frame_count;
    for (size_t p = first; p < first + count; p++)
        for (size_t k = 0; k < frames; k++) {
            const float *a = c->palettes[k * bones + s->bones[p][0]].m, *b = c->palettes[k * bones + s->bones[p][1]].m;
            double *out = c->squares + p * PX_SYMMETRIC * frames + k;
            for (size_t x = 0; x < 3; x++)
                for (size_t y = x; y < 3; y++, out += frames) {
                    *out = 0;
                    for (size_t r = 0; r < 12; r += 4)
                        *out += (double)a[r + x] * (double)b[r + y] + (double)a[r + y] * (double)b[r + x];
                }
        }
    return PELT_OK;
}

pelt_result px_correct_couple(px_correction *c) {
    c->class_uses = PX_NEW(c->scratch, uint32_t, (size_t)c->classes.count + 1);
    if (!c->class_uses)
        return PELT_ERROR_MEMORY;
    for (uint32_t u = 0; u < c->classes.count; u++) {
        uint32_t bones = bones_of(c, u);
        if (c->class_uses[u] > UINT32_MAX - bones * (bones + 1) / 2)
            return px_fail(c->context, PELT_ERROR_INPUT, "%u bones at each vertex are too many",
                           c->model->skin.influence_count);
        c->class_uses[u + 1] = c->class_uses[u] + bones * (bones + 1) / 2;
    }
    size_t uses = c->class_uses[c->classes.count];
    finder f = {.c = c,
                .latest = PX_NEW(c->scratch, uint32_t, c->model->skin.bone_count),
                .before = PX_NEW(c->scratch, uint32_t, uses),
                .bones = px_arena_alloc(c->scratch, uses, sizeof *f.bones)};
    c->uses = PX_NEW(c->scratch, px_couple_use, uses);
    c->sorted = PX_NEW(c->scratch, uint32_t, uses);
    if (!f.latest || !f.before || !f.bones || !c->uses || !c->sorted)
        return PELT_ERROR_MEMORY;
    for (uint32_t u = 0; u < c->classes.count; u++)
        use_couples(&f, u);
    c->couple_uses = PX_NEW(c->scratch, uint32_t, (size_t)c->couple_count + 2);
    c->squares = PX_NEW(c->scratch, double, px_mul_size(px_mul_size(c->couple_count, PX_SYMMETRIC), c->frame_count));
    if (!c->couple_uses || !c->squares)
        return PELT_ERROR_MEMORY;
    sort_uses(c);
    return px_parallel(c->context, NULL, c->couple_count, 8, squares_block, &(squares_work){c, f.bones});
}
