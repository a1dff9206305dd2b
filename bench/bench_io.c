/* Speed of files: OBJ, glTF and PC2 read and written on one thread, in bytes of the file per second.
 *
 * Machines differ, so each row is compared with memcpy of as many bytes in the same round. Figures are medians of
 * several rounds. Files are in TMPDIR or /tmp and in the system's cache: the disk is not measured.
 *
 *   bench_io [VERTICES [ROUNDS]]
 */
#include <pelt/pelt.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_ROUNDS 101
#define FRAMES     20u

typedef struct bench {
    pelt_context *context;
    pelt_model *model; /* a waving grid of quads with texture coordinates and normals */
    char folder[256];
    char path[320]; /* of the file being measured */
    uint32_t rounds;
    char *copies[2];  /* for memcpy */
    size_t copy_size; /* of each */
    float *frame;     /* [point][3] */
    double sum;       /* checksum of the data read: keeps the work from being optimised away */
} bench;

static void check(const bench *b, pelt_result result) {
    if (result == PELT_OK)
        return;
    fprintf(stderr, "bench_io: %s\n", pelt_error_text(b->context));
    exit(1);
}

static void *need(void *pointer) {
    if (!pointer) {
        fprintf(stderr, "bench_io: out of memory\n");
        exit(1);
    }
    return pointer;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- Content ---------------------------------------------------------------------------------------------- */

static void fill_vertex(pelt_mesh *mesh, uint32_t side, uint32_t i) {
    double u = (double)(i % side) / (side - 1), v = (double)(i / side) / (side - 1);
    double slope = cos(20 * u) * 2, length = sqrt(1 + slope * slope);
    float *position = mesh->positions + 3 * (size_t)i, *normal = mesh->normals + 3 * (size_t)i;
    position[0] = (float)(u * 2 - 1);
    position[1] = (float)(v * 2 - 1);
    position[2] = (float)(0.1 * sin(20 * u));
    normal[0] = (float)(-slope / length);
    normal[1] = 0;
    normal[2] = (float)(1 / length);
    mesh->uvs[2 * (size_t)i] = (float)u;
    mesh->uvs[2 * (size_t)i + 1] = (float)v;
}

static void make_grid(bench *b, uint32_t side) {
    check(b, pelt_model_create(b->context, &b->model));
    pelt_mesh *mesh = &b->model->mesh;
    uint32_t count = mesh->vertex_count = mesh->points.count = side * side;
    uint32_t quads = mesh->polygon_count = (side - 1) * (side - 1);
    mesh->triangle_count = 2 * quads;
    mesh->positions = need(pelt_model_alloc(b->context, b->model, count, 12));
    mesh->normals = need(pelt_model_alloc(b->context, b->model, count, 12));
    mesh->uvs = need(pelt_model_alloc(b->context, b->model, count, 8));
    mesh->triangles = need(pelt_model_alloc(b->context, b->model, mesh->triangle_count, 12));
    mesh->triangle_polygons = need(pelt_model_alloc(b->context, b->model, mesh->triangle_count, 4));
    for (uint32_t i = 0; i < count; i++)
        fill_vertex(mesh, side, i);
    for (uint32_t q = 0; q < quads; q++) {
        uint32_t a = q / (side - 1) * side + q % (side - 1);
        const uint32_t corners[6] = {a, a + 1, a + 1 + side, a, a + 1 + side, a + side};
        memcpy(mesh->triangles + 6 * (size_t)q, corners, sizeof corners);
        mesh->triangle_polygons[2 * (size_t)q] = mesh->triangle_polygons[2 * (size_t)q + 1] = q;
    }
    pelt_part *part = mesh->parts = need(pelt_model_alloc(b->context, b->model, 1, sizeof *part));
    mesh->part_count = 1;
    *part = (pelt_part){.name = "grid", .triangle_count = mesh->triangle_count, .joint = PELT_NONE};
}

static void make_clip(bench *b) {
    uint32_t count = b->model->mesh.points.count;
    pelt_clip *clip = b->model->clips = need(pelt_model_alloc(b->context, b->model, 1, sizeof *clip));
    float *times = need(pelt_model_alloc(b->context, b->model, FRAMES, sizeof(float)));
    float *positions = need(pelt_model_alloc(b->context, b->model, (size_t)FRAMES * count, 12));
    for (uint32_t k = 0; k < FRAMES; k++) {
        float *frame = positions + (size_t)3 * count * k;
        memcpy(frame, b->model->mesh.positions, (size_t)12 * count);
        times[k] = (float)k / 30;
        for (size_t i = 0; i < count; i++)
            frame[3 * i + 2] *= (float)cos(k);
    }
    *clip = (pelt_clip){
        .name = "wave", .frame_count = FRAMES, .point_count = count, .times = times, .positions = positions};
    b->model->clip_count = 1;
}

/* ---- Jobs ------------------------------------------------------------------------------------------------- */

static void write_file(bench *b) {
    check(b, pelt_save(b->context, b->model, b->path, NULL));
}

static pelt_model *load(bench *b) {
    pelt_model *model;
    const char *paths[] = {b->path};
    check(b, pelt_load(b->context, paths, 1, NULL, &model));
    return model;
}

static void read_file(bench *b) {
    pelt_model *model = load(b);
    b->sum += (double)model->mesh.positions[0];
    pelt_model_destroy(model);
}

static void read_frames(bench *b) {
    pelt_model *model = load(b);
    for (uint32_t k = 0; k < model->clips[0].frame_count; k++) {
        check(b, pelt_clip_read(b->context, &model->clips[0], k, 0, model->clips[0].point_count, b->frame));
        b->sum += (double)b->frame[3];
    }
    pelt_model_destroy(model);
}

/* ---- Measuring -------------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, uint32_t count) {
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}

static double time_copy(bench *b, size_t size) {
    double start = now();
    for (size_t done = 0; done < size; done += b->copy_size)
        memcpy(b->copies[1], b->copies[0], size - done < b->copy_size ? size - done : b->copy_size);
    b->sum += b->copies[1][0];
    return now() - start;
}

static size_t file_size(const bench *b) {
    struct stat status;
    return stat(b->path, &status) == 0 ? (size_t)status.st_size : 0;
}

static void measure(bench *b, const char *name, void (*job)(bench *b)) {
    double job_times[MAX_ROUNDS], copy_times[MAX_ROUNDS];
    job(b); /* the first run includes page faults and file creation */
    size_t size = file_size(b);
    time_copy(b, size);
    for (uint32_t r = 0; r < b->rounds; r++) {
        double start = now();
        job(b);
        job_times[r] = now() - start;
        copy_times[r] = time_copy(b, size);
    }
    double time = median(job_times, b->rounds), copy = median(copy_times, b->rounds);
    printf("| %-26s | %8.1f | %9.2f | %8.0f | %8.0f | %7.1f %% |\n", name, (double)size * 1e-6, time * 1e3,
           (double)size * 1e-6 / time, (double)size * 1e-6 / copy, 100 * copy / time);
    fflush(stdout);
}

static void name_file(bench *b, const char *name) {
    snprintf(b->path, sizeof b->path, "%s/%s", b->folder, name);
}

static void measure_all(bench *b) {
    printf("| %-26s | %8s | %9s | %8s | %8s | %9s |\n", "one thread", "MB", "ms", "MB/s", "memcpy", "of memcpy");
    printf("|----------------------------|---------:|----------:|---------:|---------:|----------:|\n");
    name_file(b, "grid.obj");
    measure(b, "OBJ write", write_file);
    measure(b, "OBJ read", read_file);
    unlink(b->path);
    name_file(b, "grid.pc2");
    measure(b, "PC2 write", write_file);
    measure(b, "PC2 open, first frame", read_file);
    measure(b, "PC2 open, every frame", read_frames);
    unlink(b->path);
    name_file(b, "grid.mdd");
    measure(b, "MDD write", write_file);
    measure(b, "MDD open, every frame", read_frames);
    unlink(b->path);
    b->model->clip_count = 0;
    name_file(b, "grid.glb");
    const pelt_format_info *format = pelt_format_for_output(b->path);
    if (format && pelt_save(b->context, b->model, b->path, NULL) == PELT_OK) {
        measure(b, "GLB write", write_file);
        measure(b, "GLB read", read_file);
    } else {
        printf("GLB: %s\n", pelt_error_text(b->context));
    }
    unlink(b->path);
}

int main(int argument_count, char **arguments) {
    long vertices = argument_count > 1 ? atol(arguments[1]) : 500000;
    long rounds = argument_count > 2 ? atol(arguments[2]) : 5;
    bench b = {.rounds = rounds < 1 ? 1 : rounds > MAX_ROUNDS ? MAX_ROUNDS : (uint32_t)rounds};
    const char *base = getenv("TMPDIR");
    snprintf(b.folder, sizeof b.folder, "%s/pelt_bench_XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(b.folder)) {
        fprintf(stderr, "bench_io: %s: no folder can be made\n", b.folder);
        return 1;
    }
    pelt_context_desc desc = pelt_context_desc_default();
    desc.thread_count = 1;
    if (pelt_context_create(&desc, &b.context) != PELT_OK)
        need(NULL);
    uint32_t side = (uint32_t)sqrt((double)(vertices < 4 ? 4 : vertices));
    make_grid(&b, side);
    make_clip(&b);
    b.copy_size = (size_t)64 << 20;
    b.copies[0] = need(calloc(b.copy_size, 1));
    b.copies[1] = need(calloc(b.copy_size, 1));
    b.frame = need(malloc((size_t)12 * side * side));
    measure_all(&b);
    pelt_model_destroy(b.model);
    pelt_context_destroy(b.context);
    free(b.copies[0]);
    free(b.copies[1]);
    free(b.frame);
    rmdir(b.folder);
    return b.sum == 0.123; /* never */
}
