#include "io/io.h"

const px_format px_format_gltf = {
    .info = {"glTF", "gltf glb", "glTF 2.0, text and binary",
             PELT_FORMAT_READ | PELT_FORMAT_WRITE | PELT_FORMAT_MESH | PELT_FORMAT_RIG},
};
