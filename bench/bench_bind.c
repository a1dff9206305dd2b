/* Weights that pelt_bind gives the rigged characters of the real data, measured against their artists' weights.
 *
 * Prints, for every character, the measures of rig_measures.h and the seconds, then means and medians of each set, of
 * the two halves (constants are chosen on one and reported on the other) and of all. Characters without motions are left out of the mean of E. Files that are not characters are listed with the
 * reason. The measures of the artist's weights against themselves must be 0, or the program stops.
 *
 *   bench_bind [FILTER] [--set NAME=VALUE]… [--threads N]
 *              [--worst | --fit | --invariance | --robots | --speed | --scaling | --sizes | --paper | --apply | --defects |
 *               --methods | --coarse | --curve | --figures | --distances | --falloffs]
 *
 *   FILTER        only files whose path contains this
 *   --set         an option of the binder: method=geodesic, resolution=128
 *   --threads     of the binder; default one per core
 *   --worst       the 8 joints of each character that add most to L1: weight that they lack, with the joint that mostly
 *                 has it instead, and weight that they have too much of, with the joint that it is mostly taken from;
 *                 then the 8 with the largest share in R
 *   --fit         whether skeletons of the wrong size or direction are detected, and how they are corrected
 *   --invariance  L1 between bindings of the same character: rotated, shifted, scaled, subdivided
 *   --robots      rigid characters around the skeletons: hulls, ball joints, plates, bolts, each with one joint
 *   --speed       CPU seconds of every character, and the share that runs on one thread
 *   --scaling     CPU seconds against resolution and joints
 *   --sizes       CPU seconds and memory at 256 to 2048, and how weights change from one resolution to the next
 *   --paper       seconds of the paper's method on the paper's grid
 *   --apply       milliseconds to apply other settings on a generated mesh
 *   --defects     shells, holes, non-manifold edges and intersecting faces
 *   --methods     methods against the artists' weights, and the effect of a limit of four influences
 *   --coarse      how weights of the paper's method change on coarser grids
 *   --curve       the paper's weighting function
 *   --figures     the default and other settings against the artists' weights
 *   --falloffs    whether a falloff means the same at every resolution
 *   --distances   distances and curves of --method geodesic against the artists' weights
 *
 * --invariance, --scaling, --sizes, --paper, --defects and --coarse take a few characters of different kinds unless there is a
 * FILTER.
 */
#include "bind_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int table_fn(pelt_context *context, const bind_bench *b);

static bool parse(int argc, char **argv, bind_bench *b, table_fn **table) {
    static const struct {
        const char *name;
        table_fn *table;
    } tables[] = {{"--fit", bind_fit},
                  {"--invariance", bind_invariance},
                  {"--robots", bind_robots},
                  {"--speed", bind_speed},
                  {"--scaling", bind_scaling},
                  {"--sizes", bind_sizes},
                  {"--paper", bind_paper},
                  {"--apply", bind_apply},
                  {"--defects", bind_defects},
                  {"--methods", bind_methods},
                  {"--coarse", bind_coarse},
                  {"--curve", bind_curve},
                  {"--figures", bind_figures_table},
                  {"--distances", bind_distances},
                  {"--falloffs", bind_falloffs}};
    for (int a = 1; a < argc; a++) {
        bool known = false;
        for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++)
            if (strcmp(argv[a], tables[t].name) == 0) {
                *table = tables[t].table;
                known = true;
            }
        if (known)
            continue;
        if (strcmp(argv[a], "--worst") == 0)
            b->worst = true;
        else if (strcmp(argv[a], "--threads") == 0 && a + 1 < argc)
            b->thread_count = (uint32_t)atoi(argv[++a]);
        else if (strcmp(argv[a], "--set") == 0 && a + 1 < argc && b->setting_count < MAX_SETTINGS)
            b->settings[b->setting_count++] = argv[++a];
        else if (argv[a][0] != '-' && !b->filter)
            b->filter = argv[a];
        else
            return false;
    }
    return true;
}

int main(int argc, char **argv) {
    bind_bench b = {0};
    table_fn *table = bind_table;
    if (!parse(argc, argv, &b, &table)) {
        fprintf(stderr, "usage: bench_bind [FILTER] [--set NAME=VALUE]… [--threads N] "
                        "[--worst | --fit | --invariance | --robots | --speed | --scaling | --sizes | --paper | "
                        "--apply | --defects | "
                        "--methods | --coarse | --curve | --figures | --distances | --falloffs]\n");
        return 1;
    }
    pelt_context_desc desc = pelt_context_desc_default();
    desc.thread_count = b.thread_count;
    pelt_context *context;
    if (pelt_context_create(&desc, &context) != PELT_OK)
        return 1;
    int code = table(context, &b);
    pelt_context_destroy(context);
    return code;
}
