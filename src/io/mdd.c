#include "io/io.h"

const px_format px_format_mdd = {
    .info = {"MDD", "mdd", "MDD point cache",
             PELT_FORMAT_READ | PELT_FORMAT_WRITE | PELT_FORMAT_CLIP | PELT_FORMAT_CACHE},
};
