/* The program as one of several processes (mpi.c), or alone (mpi_none.c). */
#ifndef PELT_CLI_GROUP_H
#define PELT_CLI_GROUP_H

#include "cli.h"

/* First in main. Joins the processes that mpirun, srun or the like started together; NULL: the program runs alone. Output of all
 * processes but the first is dropped from now on. */
const pelt_group *group_begin(int *argc, char ***argv);
/* Last in main, with the exit code of this process. Returns that of the group: not 0 if any process failed. */
exit_code group_end(exit_code code);

#endif
