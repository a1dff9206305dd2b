/* The stepping object from inside. */
#ifndef PELT_JIGGLE_OBJECT_H
#define PELT_JIGGLE_OBJECT_H

#include "jiggle/jiggle.h"

#include <pelt/jiggle.h>

/* Whether a model and settings may become a pelt_jiggle. */
pelt_result px_jiggle_check(pelt_context *context, const pelt_model *model, const pelt_jiggle_desc *desc);

#endif
