/* A group of processes on MPI (pelt_group): the only file that calls it.
 *
 * Waiting polls, so that a process ends when it is interrupted or when another one failed. A process that fails sends its exit code
 * and message to all others on a communicator of their own; a process that is killed is noticed by mpirun, which ends all.
 */
#include "group.h"

#include "core/child.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_SIZE 1200
#define CHUNK     ((size_t)1 << 30) /* bytes of a message: MPI counts with int */
#define SPINS     200               /* tests before waiting sleeps */
#define NAP       50e-6             /* seconds */

enum { DATA, FAILURE }; /* tags; FAILURE on the second communicator */

typedef struct failure_note {
    int32_t result; /* pelt_result */
    char text[TEXT_SIZE];
} failure_note;

/* Global state: the process is in one group. */
static struct {
    bool running;
    MPI_Comm data, control;
    int rank, size;
    failure_note note;    /* of this process: kept until it is sent */
    failure_note failure; /* of another one */
    bool failed;          /* `failure` is set */
    pelt_group group;
} mpi;

/* True if another process failed. */
static bool look_for_failure(void) {
    int there = 0;
    MPI_Status status;
    if (mpi.failed)
        return true;
    MPI_Iprobe(MPI_ANY_SOURCE, FAILURE, mpi.control, &there, &status);
    if (!there)
        return false;
    MPI_Recv(&mpi.failure, (int)sizeof mpi.failure, MPI_BYTE, status.MPI_SOURCE, FAILURE, mpi.control,
             MPI_STATUS_IGNORE);
    mpi.failure.text[TEXT_SIZE - 1] = 0;
    return mpi.failed = true;
}

static pelt_result wait_for(MPI_Request *request) {
    for (int spins = 0, done = 0;; spins++) {
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (done)
            return PELT_OK;
        if (spins < SPINS)
            continue;
        if (look_for_failure() || px_program_interrupted()) {
            MPI_Cancel(request);
            MPI_Request_free(request);
            return mpi.failed ? (pelt_result)mpi.failure.result : PELT_ERROR_CANCELLED;
        }
        px_program_sleep(NAP);
    }
}

static pelt_result send_bytes(void *user, uint32_t to, const void *data, size_t size) {
    (void)user;
    pelt_result result = PELT_OK;
    for (size_t done = 0, some; result == PELT_OK && done < size; done += some) {
        MPI_Request request;
        some = size - done < CHUNK ? size - done : CHUNK;
        MPI_Isend((const char *)data + done, (int)some, MPI_BYTE, (int)to, DATA, mpi.data, &request);
        result = wait_for(&request);
    }
    return result;
}

static pelt_result receive_bytes(void *user, uint32_t from, void *data, size_t size) {
    (void)user;
    pelt_result result = PELT_OK;
    for (size_t done = 0, some; result == PELT_OK && done < size; done += some) {
        MPI_Request request;
        some = size - done < CHUNK ? size - done : CHUNK;
        MPI_Irecv((char *)data + done, (int)some, MPI_BYTE, (int)from, DATA, mpi.data, &request);
        result = wait_for(&request);
    }
    return result;
}

static void tell_failure(void *user, pelt_result result, const char *text) {
    (void)user;
    if (mpi.note.text[0])
        return;
    mpi.note.result = (int32_t)result;
    snprintf(mpi.note.text, sizeof mpi.note.text, "process %d: %.1100s", mpi.rank, text);
    for (int to = 0; to < mpi.size; to++) {
        MPI_Request request;
        if (to == mpi.rank)
            continue;
        MPI_Isend(&mpi.note, (int)sizeof mpi.note, MPI_BYTE, to, FAILURE, mpi.control, &request);
        MPI_Request_free(&request);
    }
}

static const char *failure_text(void *user) {
    (void)user;
    return mpi.failed ? mpi.failure.text : NULL;
}

/* Starters set one of these. Without them there is one process, and no need to start MPI. */
static bool started_by_mpi(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"};
    for (size_t n = 0; n < COUNT(names); n++)
        if (getenv(names[n]))
            return true;
    return false;
}

const pelt_group *group_begin(int *argc, char ***argv) {
    if (!started_by_mpi() || MPI_Init(argc, argv) != MPI_SUCCESS)
        return NULL;
    mpi.running = true;
    MPI_Comm_dup(MPI_COMM_WORLD, &mpi.data);
    MPI_Comm_dup(MPI_COMM_WORLD, &mpi.control);
    MPI_Comm_rank(mpi.data, &mpi.rank);
    MPI_Comm_size(mpi.data, &mpi.size);
    if (mpi.rank > 0 && (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)))
        MPI_Abort(MPI_COMM_WORLD, EXIT_OUTPUT);
    mpi.group = (pelt_group){.rank = (uint32_t)mpi.rank,
                             .size = (uint32_t)mpi.size,
                             .send = send_bytes,
                             .receive = receive_bytes,
                             .abort = tell_failure,
                             .failure = failure_text};
    return mpi.size > 1 ? &mpi.group : NULL;
}

/* The processes come together, so that none leaves while others still work. Failures of others are looked for meanwhile. */
exit_code group_end(exit_code code) {
    if (!mpi.running)
        return code;
    int32_t own = (int32_t)code, worst = 0;
    MPI_Request request;
    int done = 0;
    if (code != EXIT_DONE && code != EXIT_QUALITY && !mpi.failed && mpi.size > 1)
        tell_failure(NULL, code == EXIT_OUTPUT ? PELT_ERROR_OUTPUT : PELT_ERROR_INPUT, "failed");
    MPI_Iallreduce(&own, &worst, 1, MPI_INT32_T, MPI_MAX, mpi.control, &request);
    while (!done) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (!done)
            px_program_sleep(NAP);
    }
    while (look_for_failure()) /* messages that nobody waited for */
        mpi.failed = false;
    MPI_Finalize();
    return (exit_code)worst;
}
