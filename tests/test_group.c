/* Groups of processes, here threads with a context each: messages, sums in a fixed order, decomposition and comparison with the
 * same bytes for any number of processes, failures of one process that end all. */
#include "support.h"

#include "core/group.h"
#include "scenes.h"

#include <math.h>

#define PROCESSES_MOST 8u

/* ---- A group of threads ----------------------------------------------------------------------------------- */

typedef struct message {
    struct message *next;
    size_t size;
    char data[];
} message;

typedef struct team {
    px_mutex lock;
    px_condition changed;
    uint32_t size;
    message *boxes[PROCESSES_MOST][PROCESSES_MOST]; /* [to][from] oldest first */
    pelt_result result;                             /* of the process that failed first */
    char text[1200];                                /* its message; "": none failed */
    uint32_t failed;                                /* its rank */
} team;

typedef struct member {
    team *team;
    uint32_t rank;
    pelt_context *context;
    pelt_result result;
    uint64_t asked, cancel_at; /* looks for a request to stop so far; the one that finds it, 0: none */
    void (*run)(struct member *m);
    void *job;
    px_thread thread;
} member;

static pelt_result put(void *user, uint32_t to, const void *data, size_t size) {
    member *m = user;
    message *item = malloc(sizeof *item + size);
    *item = (message){.size = size};
    memcpy(item->data, data, size);
    px_mutex_lock(&m->team->lock);
    message **place = &m->team->boxes[to][m->rank];
    while (*place)
        place = &(*place)->next;
    *place = item;
    px_condition_broadcast(&m->team->changed);
    px_mutex_unlock(&m->team->lock);
    return PELT_OK;
}

static bool others_failed(const member *m) {
    return m->team->text[0] && m->team->failed != m->rank;
}

static pelt_result take(void *user, uint32_t from, void *data, size_t size) {
    member *m = user;
    px_mutex_lock(&m->team->lock);
    message **place = &m->team->boxes[m->rank][from];
    while (!*place && !others_failed(m))
        px_condition_wait(&m->team->changed, &m->team->lock);
    pelt_result result = others_failed(m) ? m->team->result : PELT_OK;
    if (result == PELT_OK) {
        message *item = *place;
        *place = item->next;
        if (item->size == size)
            memcpy(data, item->data, size);
        else
            result = PELT_ERROR_INPUT;
        free(item);
    }
    px_mutex_unlock(&m->team->lock);
    return result;
}

static void give_up(void *user, pelt_result result, const char *text) {
    member *m = user;
    px_mutex_lock(&m->team->lock);
    if (!m->team->text[0]) {
        m->team->result = result;
        m->team->failed = m->rank;
        snprintf(m->team->text, sizeof m->team->text, "process %u: %s", m->rank, text);
    }
    px_condition_broadcast(&m->team->changed);
    px_mutex_unlock(&m->team->lock);
}

static const char *why(void *user) {
    const member *m = user;
    return others_failed(m) ? m->team->text : NULL;
}

static bool is_cancelled(void *user) {
    member *m = user;
    return ++m->asked >= m->cancel_at && m->cancel_at > 0;
}

static void member_main(void *user) {
    member *m = user;
    m->run(m);
}

/* Runs `run` in `size` processes with jobs [size] of `job_size` bytes. cancel_at: the last process is asked to stop then; 0: never. */
static void run_team_until(member *members, uint32_t size, uint64_t cancel_at, void (*run)(member *m), void *jobs,
                           size_t job_size) {
    team t = {.size = size};
    px_mutex_init(&t.lock);
    px_condition_init(&t.changed);
    for (uint32_t r = 0; r < size; r++) {
        member *m = &members[r];
        *m = (member){.team = &t, .rank = r, .run = run, .job = (char *)jobs + r * job_size};
        pelt_group group = {r, size, put, take, give_up, why, m};
        pelt_context_desc desc = pelt_context_desc_default();
        desc.thread_count = cancel_at ? 1 : 1 + r % 2; /* one: looks for the request are counted without a lock */
        desc.group = &group;
        desc.cancel = cancel_at ? is_cancelled : NULL;
        desc.cancel_user = m;
        m->cancel_at = r == size - 1 ? cancel_at : 0;
        assert_int_equal(pelt_context_create(&desc, &m->context), PELT_OK);
    }
    for (uint32_t r = 1; r < size; r++)
        assert_true(px_thread_start(&members[r].thread, member_main, &members[r]));
    member_main(&members[0]);
    for (uint32_t r = 1; r < size; r++)
        px_thread_join(&members[r].thread);
    for (uint32_t to = 0; to < size; to++)
        for (uint32_t from = 0; from < size; from++)
            for (message *item = t.boxes[to][from], *next; item; item = next) {
                next = item->next;
                free(item);
            }
    px_condition_destroy(&t.changed);
    px_mutex_destroy(&t.lock);
}

static void run_team(member *members, uint32_t size, void (*run)(member *m), void *jobs, size_t job_size) {
    run_team_until(members, size, 0, run, jobs, job_size);
}

static void end_team(member *members, uint32_t size) {
    for (uint32_t r = 0; r < size; r++)
        pelt_context_destroy(members[r].context);
}

/* ---- Messages and sums ------------------------------------------------------------------------------------ */

#define ELEMENTS 20000u

typedef struct sums_job {
    double total, own, items[PROCESSES_MOST];
    uint32_t word;
    size_t vertices;
} sums_job;

static double element(size_t i) {
    test_random random = {i};
    return ldexp(test_random_real(&random, -1, 1), (int)test_random_below(&random, 60));
}

static pelt_result add_elements(void *user, size_t first, size_t count, double *values) {
    (void)user;
    for (size_t i = first; i < first + count; i++)
        *values += element(i);
    return PELT_OK;
}

static void sum_things(member *m) {
    sums_job *job = m->job;
    px_leaves leaves = px_leaves_make(m->context, ELEMENTS, 300, true);
    job->vertices = px_leaves_own(&leaves);
    m->result = px_leaves_sum(m->context, &leaves, 1, add_elements, NULL, &job->total);
    job->own = m->rank + 1;
    if (m->result == PELT_OK)
        m->result = pelt_group_sum(m->context, &job->own, 1);
    job->items[m->rank] = 10 * m->rank;
    if (m->result == PELT_OK)
        m->result = pelt_group_gather(m->context, job->items, sizeof *job->items);
    for (uint32_t from = 0; m->result == PELT_OK && from < m->team->size; from++) {
        job->word = m->rank == from ? 7 + from : 0;
        m->result = pelt_group_broadcast(m->context, from, &job->word, sizeof job->word);
        if (job->word != 7 + from)
            m->result = PELT_ERROR_INPUT;
    }
    if (m->result == PELT_OK)
        m->result = pelt_group_agree(m->context, PELT_OK);
}

static void test_sums(void **state) {
    (void)state;
    double first = 0, plain = 0;
    for (size_t i = 0; i < ELEMENTS; i++)
        plain += element(i);
    for (uint32_t size = 1; size <= PROCESSES_MOST; size++) {
        member members[PROCESSES_MOST];
        sums_job jobs[PROCESSES_MOST] = {{0}};
        size_t vertices = 0;
        run_team(members, size, sum_things, jobs, sizeof *jobs);
        first = size == 1 ? jobs[0].total : first;
        for (uint32_t r = 0; r < size; r++) {
            assert_int_equal(members[r].result, PELT_OK);
            assert_memory_equal(&jobs[r].total, &first, sizeof first);
            assert_true(jobs[r].own == size * (size + 1) / 2);
            for (uint32_t other = 0; other < size; other++)
                assert_true(jobs[r].items[other] == 10 * other);
            vertices += jobs[r].vertices;
        }
        assert_int_equal(vertices, ELEMENTS);
        end_team(members, size);
    }
    assert_true(first != plain); /* or the order would not matter */
    assert_true(fabs(first - plain) <= 1e-6 * fabs(plain));
}

static void test_bad_groups(void **state) {
    (void)state;
    pelt_group good = {0, 2, put, take, give_up, why, NULL}, bad[] = {good, good, good, good};
    bad[0].rank = 2;
    bad[1].size = 0;
    bad[2].receive = NULL;
    bad[3].size = 65537;
    for (size_t n = 0; n < sizeof bad / sizeof *bad; n++) {
        pelt_context *context;
        pelt_context_desc desc = pelt_context_desc_default();
        desc.group = &bad[n];
        assert_int_equal(pelt_context_create(&desc, &context), PELT_ERROR_USAGE);
        assert_null(context);
    }
}

/* ---- Decomposition ---------------------------------------------------------------------------------------- */

typedef struct solve_job {
    const char *scene;
    pelt_transforms transforms;
    double error;      /* search for the number of bones */
    uint32_t spoiled;  /* point whose position is not finite; PELT_NONE: none */
    uint32_t vertices; /* of the mesh */
    uint32_t bones;    /* 0: 6, or those that reach `error` */
    uint32_t iterations;
    const char *checkpoint;
    uint64_t hash; /* of the result */
    pelt_difference difference;
    pelt_decompose_report report;
    size_t peak;
    char text[1200];
} solve_job;

static void hash(uint64_t *sum, const void *data, size_t size) {
    const unsigned char *bytes = data;
    for (size_t n = 0; n < size; n++)
        *sum = (*sum ^ bytes[n]) * UINT64_C(0x100000001B3);
}

static uint64_t hash_model(const pelt_model *model) {
    uint64_t sum = 1;
    size_t N = model->mesh.vertex_count, K = model->skin.influence_count;
    hash(&sum, model->mesh.positions, 3 * N * sizeof(float));
    hash(&sum, model->mesh.normals, 3 * N * sizeof(float));
    hash(&sum, model->skin.weights, N * K * sizeof(float));
    hash(&sum, model->skin.bones, N * K * sizeof(uint16_t));
    hash(&sum, model->skin.inverse_binds, model->skin.bone_count * sizeof *model->skin.inverse_binds);
    for (uint32_t t = 0; t < model->motions[0].track_count; t++) {
        const pelt_track *track = &model->motions[0].tracks[t];
        hash(&sum, track->times, track->key_count * sizeof(float));
        hash(&sum, track->values, (size_t)track->key_count * track->width * sizeof(float));
    }
    return sum;
}

static pelt_result solve_scene(member *m, solve_job *job) {
    pelt_context *context = m->context;
    pelt_model *model = NULL;
    scene_desc size = {.vertex_count = job->vertices, .frame_count = 12, .seed = 1};
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.bones = job->error > 0 ? 0 : job->bones ? job->bones : 6;
    desc.error = job->error;
    desc.iterations = job->iterations ? job->iterations : job->error > 0 ? 5 : 24;
    desc.checkpoint = job->checkpoint;
    desc.checkpoint_every = 1;
    desc.transforms = job->transforms;
    pelt_result result = scene_find(job->scene)->make(context, &size, &model);
    if (result != PELT_OK)
        return result;
    pelt_clip clip = model->clips[0], played;
    float *positions = malloc((size_t)clip.frame_count * clip.point_count * 12);
    for (uint32_t k = 0; k < clip.frame_count && result == PELT_OK; k++)
        result = pelt_clip_read(context, &clip, k, 0, clip.point_count, positions + 3 * (size_t)k * clip.point_count);
    if (job->spoiled != PELT_NONE)
        positions[3 * ((size_t)clip.point_count + job->spoiled)] = NAN;
    model->clips[0].positions = positions;
    job->vertices = model->mesh.vertex_count;
    if (result == PELT_OK)
        result = pelt_decompose(context, model, &desc, &job->report);
    if (result == PELT_OK)
        result = pelt_clip_from_motion_at(context, model, &model->motions[0], clip.times, clip.frame_count,
                                          PELT_SKINNING_LINEAR, &played);
    if (result == PELT_OK)
        result = pelt_compare_clips(context, &model->clips[0], &played, &model->mesh, &job->difference, NULL);
    if (result == PELT_OK)
        job->hash = hash_model(model);
    pelt_model_destroy(model);
    free(positions);
    return result;
}

static void solve(member *m) {
    solve_job *job = m->job;
    m->result = solve_scene(m, job);
    job->peak = pelt_context_memory(m->context).peak;
    snprintf(job->text, sizeof job->text, "%s", pelt_error_text(m->context));
}

/* The same bytes from 1 and 5 processes, with test_all() also from 2 and 3. 9000 vertices are divided into three: of five
 * processes two have none. */
static void check_solve(const solve_job *job) {
    static const uint32_t sizes[] = {1, 5, 2, 3};
    solve_job first = {0};
    for (size_t n = 0; n < (test_all() ? 4 : 2); n++) {
        member members[PROCESSES_MOST];
        solve_job jobs[PROCESSES_MOST];
        for (uint32_t r = 0; r < sizes[n]; r++)
            jobs[r] = *job;
        run_team(members, sizes[n], solve, jobs, sizeof *jobs);
        first = n == 0 ? jobs[0] : first;
        for (uint32_t r = 0; r < sizes[n]; r++) {
            if (members[r].result != PELT_OK)
                fail_msg("%s, process %u of %u: %s", job->scene, r, sizes[n], jobs[r].text);
            assert_true(jobs[r].hash == first.hash);
            assert_memory_equal(&jobs[r].difference, &first.difference, sizeof first.difference);
            assert_int_equal(jobs[r].report.bone_count, first.report.bone_count);
        }
        end_team(members, sizes[n]);
    }
    assert_true(first.difference.error_rms > 0);
}

static void test_affine(void **state) {
    (void)state;
    check_solve(&(solve_job){.scene = "cloth", .spoiled = PELT_NONE, .vertices = 9000});
}

static void test_rigid(void **state) {
    (void)state;
    check_solve(&(solve_job){"softbody", PELT_TRANSFORMS_RIGID, .spoiled = PELT_NONE, .vertices = 9000});
}

static void test_trs_search(void **state) {
    (void)state;
    check_solve(&(solve_job){"cloth", PELT_TRANSFORMS_TRS, .error = 40, .spoiled = PELT_NONE, .vertices = 9000});
}

/* Enough vertices for a first solution on a sample (coarse.c), which every process makes from the vertices of all. */
static void test_sample(void **state) {
    (void)state;
    check_solve(&(solve_job){"cloth", .spoiled = PELT_NONE, .vertices = 50000, .iterations = 4});
}

/* ---- Checkpoints ------------------------------------------------------------------------------------------ */

static bool is_file(const char *path) {
    uint64_t size;
    return px_path_look(path, &size) == PX_PATH_FILE;
}

/* One run by `size` processes, the last of which is asked to stop at its look `cancel_at`; returns its result. */
static pelt_result run_from(const solve_job *job, uint32_t size, uint64_t cancel_at, solve_job *out, uint64_t *asked) {
    member members[PROCESSES_MOST];
    solve_job jobs[PROCESSES_MOST];
    for (uint32_t r = 0; r < size; r++)
        jobs[r] = *job;
    run_team_until(members, size, cancel_at, solve, jobs, sizeof *jobs);
    for (uint32_t r = 0; r < size; r++)
        assert_int_equal(members[r].result, members[0].result);
    *out = jobs[0];
    *asked = members[size - 1].asked;
    pelt_result result = members[0].result;
    end_team(members, size);
    return result;
}

/* Stopped again and again, by other numbers of processes each time, a run comes to the bytes of one that was not stopped. Runs stop at
 * `points` places over all of their length: in the reduction, seeds, iterations, exchanges of bones, final steps. */
static void check_resume(const char *name, pelt_transforms transforms, double error, uint32_t points) {
    static const uint32_t sizes[] = {1, 3, 2};
    const char *path = "group_checkpoint";
    solve_job job = {.scene = name, .transforms = transforms, .error = error, .spoiled = PELT_NONE, .vertices = 4400};
    solve_job whole, part;
    uint64_t length, asked;
    job.bones = 10; /* enough for exchanges */
    job.iterations = error > 0 ? 5 : 26;
    pelt_decompose_checkpoint_remove(path);
    assert_int_equal(run_from(&job, 1, UINT64_MAX, &whole, &length), PELT_OK);
    job.checkpoint = path;
    uint32_t stopped = 0, went_on = 0;
    for (uint32_t n = 1; n <= points; n++) {
        uint32_t size = sizes[n % 3];
        if (run_from(&job, size, length * n / points / size, &part, &asked) == PELT_ERROR_CANCELLED)
            stopped++;
        else
            pelt_decompose_checkpoint_remove(path); /* it was done before: begin again */
        went_on += is_file(path);
    }
    assert_true(stopped >= points / 2 && went_on > 0);
    assert_int_equal(run_from(&job, 2, UINT64_MAX, &part, &asked), PELT_OK);
    assert_true(part.hash == whole.hash);
    assert_int_equal(part.report.bone_count, whole.report.bone_count);
    assert_int_equal(part.report.iteration_count, whole.report.iteration_count);
    assert_int_equal(part.report.search_count, whole.report.search_count);

    /* What is done is not done again, and gives the same. */
    assert_int_equal(run_from(&job, 1, UINT64_MAX, &part, &asked), PELT_OK);
    assert_true(part.hash == whole.hash);
    if (!(error > 0))
        assert_true(asked < length);

    /* Other settings, other inputs. */
    solve_job other = job;
    other.iterations++;
    assert_int_equal(run_from(&other, 2, UINT64_MAX, &part, &asked), PELT_ERROR_INPUT);
    assert_non_null(strstr(part.text, "this checkpoint is of other inputs"));
    other = job;
    other.vertices = 4500;
    assert_int_equal(run_from(&other, 1, UINT64_MAX, &part, &asked), PELT_ERROR_INPUT);
    assert_non_null(strstr(part.text, "this checkpoint is of other inputs"));
    pelt_decompose_checkpoint_remove(path);
    assert_false(is_file(path) || is_file("group_checkpoint.reduced"));
}

static void test_resume_affine(void **state) {
    (void)state;
    check_resume("cloth", PELT_TRANSFORMS_AFFINE, 0, test_all() ? 7 : 4);
}

static void test_resume_rigid(void **state) {
    (void)state;
    check_resume("softbody", PELT_TRANSFORMS_RIGID, 0, test_all() ? 4 : 3);
}

static void test_resume_trs(void **state) {
    (void)state;
    check_resume("cloth", PELT_TRANSFORMS_TRS, 0, 3);
}

static void test_resume_search(void **state) {
    (void)state;
    check_resume("cloth", PELT_TRANSFORMS_AFFINE, 60, 4);
}

/* Damage is noticed: any byte, and a file that is cut off. */
static void test_damaged_checkpoint(void **state) {
    (void)state;
    const char *path = "group_checkpoint";
    solve_job job = {.scene = "cloth", .spoiled = PELT_NONE, .vertices = 300, .bones = 4, .checkpoint = path}, part;
    uint64_t asked;
    static char data[1 << 20];
    pelt_decompose_checkpoint_remove(path);
    assert_int_equal(run_from(&job, 1, UINT64_MAX, &part, &asked), PELT_OK);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    assert_true(size > 1000 && size < sizeof data);
    for (size_t n = 0; n < 24; n++) {
        size_t at = n * (size - 1) / 23, kept = n % 4 == 3 ? at : size;
        data[at] ^= 4;
        file = fopen(path, "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(data, 1, kept, file), kept);
        fclose(file);
        data[at] ^= 4;
        assert_int_equal(run_from(&job, 1 + n % 2, UINT64_MAX, &part, &asked), PELT_ERROR_INPUT);
        assert_non_null(strstr(part.text, "this checkpoint is"));
    }
    pelt_decompose_checkpoint_remove(path);
}

/* ---- Failures --------------------------------------------------------------------------------------------- */

/* The last process reads the vertex that is not finite; all fail with its message. */
static void test_failure(void **state) {
    (void)state;
    member members[3];
    solve_job jobs[3];
    for (uint32_t r = 0; r < 3; r++)
        jobs[r] = (solve_job){.scene = "cloth", .spoiled = 8900, .vertices = 9000};
    run_team(members, 3, solve, jobs, sizeof *jobs);
    for (uint32_t r = 0; r < 3; r++) {
        assert_int_equal(members[r].result, PELT_ERROR_INPUT);
        assert_non_null(strstr(jobs[r].text, "frame 1, point 8900: the position is not finite"));
    }
    end_team(members, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),    cmocka_unit_test(test_bad_groups), test_long(test_affine),
        test_long(test_rigid),          test_long(test_trs_search),        test_long(test_sample),
        cmocka_unit_test(test_failure), test_long(test_resume_affine),     cmocka_unit_test(test_resume_rigid),
        test_long(test_resume_trs),     test_long(test_resume_search),     cmocka_unit_test(test_damaged_checkpoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
