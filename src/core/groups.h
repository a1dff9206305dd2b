/* Union-find (disjoint sets) over indices: vertices of one shell, bones of one skin. */
#ifndef PELT_CORE_GROUPS_H
#define PELT_CORE_GROUPS_H

#include <stdint.h>

/* The representative of the group of i: its smallest member, if groups were merged by px_group_join only. Path halving.
 * Initialise `groups` [member] with groups[i] = i. */
static inline uint32_t px_group_of(uint32_t *groups, uint32_t i) {
    while (groups[i] != i)
        i = groups[i] = groups[groups[i]];
    return i;
}
/* Merges the groups of a and b. */
static inline void px_group_join(uint32_t *groups, uint32_t a, uint32_t b) {
    a = px_group_of(groups, a);
    b = px_group_of(groups, b);
    groups[a > b ? a : b] = a < b ? a : b;
}

#endif
