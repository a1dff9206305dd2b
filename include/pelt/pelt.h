/* Pelt: turns anything that deforms into a skin any engine can play. This header includes all others. */
#ifndef PELT_PELT_H
#define PELT_PELT_H

#include <pelt/base.h>
#include <pelt/bind.h>
#include <pelt/budget.h>
#include <pelt/collide.h>
#include <pelt/correct.h>
#include <pelt/crowd.h>
#include <pelt/decompose.h>
#include <pelt/decompose_corrected.h>
#include <pelt/delta_mush.h>
#include <pelt/edit.h>
#include <pelt/eigenskin.h>
#include <pelt/group.h>
#include <pelt/helpers.h>
#include <pelt/io.h>
#include <pelt/jiggle.h>
#include <pelt/jiggle_rig.h>
#include <pelt/light.h>
#include <pelt/measure.h>
#include <pelt/model.h>
#include <pelt/retarget.h>
#include <pelt/run.h>
#include <pelt/simplify.h>
#include <pelt/sliders.h>
#include <pelt/study.h>
#include <pelt/view.h>
#include <pelt/weights.h>

#endif
