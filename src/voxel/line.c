/* Inside test along one line, from its sorted hits (equation 5 of Dionne and de Lasa, see voxel.h).
 *
 * Between two hits a line is inside when the next hit leaves a solid (a back face in the positive direction) or the
 * previous hit entered one (a back face in the negative direction). This misses the space between two solids that are
 * both inside a third. Addition to the paper: also inside when, counted from either end of the line, more shells were
 * entered than left. On closed meshes this is the winding number; at a hole the counts from the two ends differ, and
 * only the nearest faces decide.
 */
#include "voxel/soup.h"

px_line px_line_of(const px_soup *soup, const px_buckets *hits, uint32_t bucket, uint32_t axis, uint32_t views) {
    px_line line = {.hits = hits->values + hits->starts[bucket],
                    .count = hits->starts[bucket + 1] - hits->starts[bucket],
                    .views = views >> 2 * axis & 3,
                    .size = soup->grid->size[axis],
                    .shift = soup->shift};
    for (uint32_t i = 0; i < line.count; i++)
        line.total += px_hit_leaves(line.hits[i]) ? -1 : 1;
    return line;
}

static bool inside_before(const px_line *line, uint32_t hit) {
    bool up = hit < line->count && px_hit_leaves(line->hits[hit]);
    bool down = hit > 0 && !px_hit_leaves(line->hits[hit - 1]);
    return (up && line->views & 1) || (down && line->views & 2) ||
           (line->views == 3 && line->depth > 0 && line->depth > line->total);
}

/* The first cell whose centre is at or after the hit. */
static uint32_t cell_behind(const px_line *line, uint32_t hit) {
    uint32_t half = (uint32_t)1 << line->shift >> 1;
    uint32_t cell = ((line->hits[hit] >> 1) + half - 1) >> line->shift;
    return cell < line->size ? cell : line->size;
}

bool px_line_next(px_line *line, uint32_t *first, uint32_t *end) {
    bool found = false;
    for (; line->next <= line->count; line->next++) {
        uint32_t hit = line->next;
        if (inside_before(line, hit)) {
            if (!found)
                *first = hit > 0 ? cell_behind(line, hit - 1) : 0;
            *end = hit < line->count ? cell_behind(line, hit) : line->size;
            found = true;
        } else if (found) {
            return true;
        }
        if (hit < line->count)
            line->depth += px_hit_leaves(line->hits[hit]) ? -1 : 1;
    }
    return found;
}
