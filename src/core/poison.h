/* Bytes of the library's own blocks that nobody may touch: AddressSanitizer reports accesses to them. Without it, all of
 * this does nothing. */
#ifndef PELT_CORE_POISON_H
#define PELT_CORE_POISON_H

#if defined(__SANITIZE_ADDRESS__)
#define PX_POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PX_POISONS 1
#endif
#endif

#ifdef PX_POISONS
#include <sanitizer/asan_interface.h>
#define PX_POISON(start, size)   __asan_poison_memory_region(start, size)
#define PX_UNPOISON(start, size) __asan_unpoison_memory_region(start, size)
#define PX_POISON_GAP            16u /* bytes between arrays of an arena */
#else
#define PX_POISON(start, size)   ((void)(start), (void)(size))
#define PX_UNPOISON(start, size) ((void)(start), (void)(size))
#define PX_POISON_GAP            0u
#endif

#endif
