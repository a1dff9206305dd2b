/* The skinning kernel, four vertices at a time, for SSE2. */
#if defined(__x86_64__)
#define LANES     4
#define SKIN_BODY px_skin_sse2
#include "run/skin_kernel.h"
#else
typedef int not_this_machine; /* a file may not be empty */
#endif
