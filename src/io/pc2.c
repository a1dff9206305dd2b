#include "io/io.h"

const px_format px_format_pc2 = {
    .info = {"PC2", "pc2", "PC2 point cache",
             PELT_FORMAT_READ | PELT_FORMAT_WRITE | PELT_FORMAT_CLIP | PELT_FORMAT_CACHE},
};
