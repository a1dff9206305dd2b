/* Eight instances at a time, for AVX2. Compiled with -mavx2, and only called where the machine has it. */
#if defined(__x86_64__)
#define LANES      8
#define CROWD_BODY px_crowd_eight
#include "crowd/batch_kernel.h"
#else
typedef int not_this_machine; /* a file may not be empty */
#endif
