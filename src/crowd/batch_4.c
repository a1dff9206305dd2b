/* Four instances at a time, for SSE2 and NEON. */
#if defined(__x86_64__) || defined(__aarch64__)
#define LANES      4
#define CROWD_BODY px_crowd_four
#include "crowd/batch_kernel.h"
#else
typedef int not_this_machine; /* a file may not be empty */
#endif
