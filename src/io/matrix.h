/* Transforms of scenes in files, in doubles. */
#ifndef PELT_IO_MATRIX_H
#define PELT_IO_MATRIX_H

/* A 3×4 matrix, row by row, as pelt_affine. USD and Alembic files store its transpose. */
typedef struct px_scene_matrix {
    double m[12];
} px_scene_matrix;

static const px_scene_matrix px_scene_matrix_identity = {{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}};

/* a·b: applies b first. */
static inline px_scene_matrix px_scene_matrix_mul(const px_scene_matrix *a, const px_scene_matrix *b) {
    px_scene_matrix out;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++) {
            double sum = c == 3 ? a->m[4 * r + 3] : 0;
            for (int k = 0; k < 3; k++)
                sum += a->m[4 * r + k] * b->m[4 * k + c];
            out.m[4 * r + c] = sum;
        }
    return out;
}

#endif
