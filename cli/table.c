/* Text tables with aligned columns. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

void table_row(cli_table *table, const char *name, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *value = must_format_list(format, list);
    va_end(list);
    table->cells = must_resize(table->cells, 2 * (table->row_count + 1), sizeof *table->cells);
    table->cells[2 * table->row_count] = must_format("%s", name);
    table->cells[2 * table->row_count + 1] = value;
    make_printable(value);
    table->row_count++;
}

/* Width in characters of UTF-8 text. */
static size_t width_of(const char *text) {
    size_t width = 0;
    for (; *text; text++)
        width += (*text & 0xc0) != 0x80;
    return width;
}

void table_print(cli_table *table, FILE *out, const char *title) {
    size_t widest = 0;
    for (size_t r = 0; r < table->row_count; r++) {
        size_t width = width_of(table->cells[2 * r]);
        widest = width > widest ? width : widest;
    }
    terminal_clear();
    bool bold = out && title && terminal_colours(out);
    if (out && title) {
        char *printable = must_format("%s", title);
        make_printable(printable);
        fprintf(out, "%s%s%s\n", bold ? "\033[1m" : "", printable, bold ? "\033[0m" : "");
        free(printable);
    }
    for (size_t r = 0; r < table->row_count; r++) {
        char *name = table->cells[2 * r], *value = table->cells[2 * r + 1];
        if (out)
            fprintf(out, "%s%s%*s%s\n", title ? "  " : "", name, (int)(widest - width_of(name) + 2), "", value);
        free(name);
        free(value);
    }
    free(table->cells);
    *table = (struct cli_table){0};
}

void columns_print(FILE *out, char *const *cells, size_t row_count, size_t column_count, size_t left) {
    size_t *widths = must_alloc(column_count, sizeof *widths);
    for (size_t n = 0; n < row_count * column_count; n++) {
        size_t width = width_of(cells[n]), *widest = &widths[n % column_count];
        *widest = width > *widest ? width : *widest;
    }
    for (size_t n = 0; n < row_count * column_count; n++) {
        size_t column = n % column_count;
        int space = (int)(widths[column] - width_of(cells[n]));
        fprintf(out, "%s%*s%s%*s", column ? "  " : "", column < left ? 0 : space, "", cells[n],
                column < left ? space : 0, "");
        if (column + 1 == column_count)
            fputc('\n', out);
    }
    free(widths);
}

char *list_names(const char *const *names, size_t count, size_t most) {
    size_t shown = 0, size = 0, capacity = 64;
    for (size_t n = 0; n < count; n++)
        capacity += strlen(names[n]) + 2;
    char *list = must_alloc(capacity, 1);
    for (size_t n = 0; n < count && shown < most; n++)
        if (*names[n])
            size += (size_t)sprintf(list + size, "%s%s", shown++ ? ", " : "", names[n]);
    if (shown && shown < count)
        sprintf(list + size, " and %zu more", count - shown);
    return list;
}

/* ---- Numbers ---------------------------------------------------------------------------------------------- */

#define BUFFERS 8

static char *next_buffer(void) {
    static char buffers[BUFFERS][32];
    static unsigned next;
    return buffers[next++ % BUFFERS];
}

const char *grouped(uint64_t value) {
    char digits[24];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    char *text = next_buffer(), *p = text;
    for (size_t d = 0; d < length; d++) {
        if (d && (length - d) % 3 == 0)
            *p++ = ',';
        *p++ = digits[d];
    }
    *p = 0;
    return text;
}

const char *bytes_text(uint64_t bytes) {
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    double value = (double)bytes;
    size_t unit = 0;
    for (; value >= 999.5 && unit + 1 < COUNT(units); unit++)
        value /= 1000;
    char *text = next_buffer();
    snprintf(text, 32, unit && value < 9.95 ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return text;
}
