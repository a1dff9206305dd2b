#include "io/io.h"

const px_format px_format_obj = {
    .info = {"OBJ", "obj", "Wavefront OBJ, and sequences of it",
             PELT_FORMAT_READ | PELT_FORMAT_WRITE | PELT_FORMAT_MESH | PELT_FORMAT_SEQUENCE},
};
