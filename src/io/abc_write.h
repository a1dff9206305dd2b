/* Shared by the files that write Alembic, in dependency order:
 *
 *   abc_emit.c   objects, properties, archive
 *   abc_write.c  meshes and frames of a model
 */
#ifndef PELT_IO_ABC_WRITE_H
#define PELT_IO_ABC_WRITE_H

#include "io/abc_emit.h"
#include "io/frame_normals.h"

pelt_result px_abc_write(const px_write *write);

#endif
