/* SVG plots of curves, readable on light and dark backgrounds. Lengths are in SVG user units. */
#include "study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH   440.0 /* width of a plot with its labels */
#define LEFT    58.0  /* margins around the frame */
#define RIGHT   14.0
#define TOP     62.0
#define FRAME   280.0 /* height of the frame */
#define BOTTOM  58.0
#define LINE    20.0 /* height of a legend line */
#define COLUMNS 2u   /* legend columns per plot */
#define DECADES 3.0  /* maximum range of the error axis; smaller errors are clipped */

/* Distinguishable with colour blindness, and from white and black. */
static const char *const colours[] = {"#2f81d8", "#b58900", "#dc7a1e", "#8a6fd1",
                                      "#d0559b", "#d8443c", "#22a06b", "#7d8590"};

/* ---- Scales ----------------------------------------------------------------------------------------------- */

typedef struct frame {
    cli_text *out;
    const plot *plot;
    double x0, y0, width; /* upper left corner and width of the frame */
    double x_end;         /* the x axis shows [0, x_end] */
    double low, high;     /* range of the y axis, log10 */
} frame;

static double place_x(const frame *f, double x) {
    return f->x0 + f->width * x / f->x_end;
}

/* Values below the range are placed below the frame, where they are clipped. */
static double place_y(const frame *f, double y) {
    double value = y > 0 ? fmax(log10(y), f->low - 1) : f->low - 1;
    return f->y0 + FRAME * (f->high - value) / (f->high - f->low);
}

static void find_ranges(frame *f) {
    double least = INFINITY, most = 0;
    for (size_t s = 0; s < f->plot->count; s++)
        for (size_t n = 0; n < f->plot->series[s].count; n++) {
            const double *point = f->plot->series[s].points[n];
            f->x_end = fmax(f->x_end, 1.04 * point[0]);
            most = fmax(most, point[1]);
            if (point[1] > 0)
                least = fmin(least, point[1]);
        }
    if (!(most > 0))
        least = most = 1;
    f->x_end = f->x_end > 0 ? f->x_end : 1;
    f->high = log10(most) + 0.08;
    f->low = fmin(fmax(log10(least) - 0.08, f->high - DECADES), f->high - 0.5);
}

/* Tick distance: 1, 2 or 5 times a power of ten, at least 1, with at most six ticks up to `end`. */
static double step_to(double end) {
    double power = pow(10, floor(log10(end / 6)));
    for (double step = power;; step *= step < 1.5 * power ? 2 : step < 3 * power ? 2.5 : 2)
        if (end / step <= 6)
            return step < 1 ? 1 : step;
}

/* ---- Pieces ----------------------------------------------------------------------------------------------- */

static void put_text(cli_text *out, double x, double y, const char *attributes, const char *text) {
    text_add(out, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, attributes);
    for (const char *p = text; *p; p++) {
        if (*p == '<' || *p == '>' || *p == '&')
            text_add(out, "&#%d;", *p);
        else
            text_add(out, "%c", (unsigned char)*p < 0x20 ? '?' : *p);
    }
    text_add(out, "</text>\n");
}

static void put_mark(cli_text *out, const plot_series *s, double x, double y) {
    text_add(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.2\" stroke=\"%s\" class=\"%s\"", x, y,
             colours[s->colour % COUNT(colours)], s->dashed ? "hollow" : "full");
    if (!s->dashed)
        text_add(out, " fill=\"%s\"", colours[s->colour % COUNT(colours)]);
    text_add(out, "/>\n");
}

static void put_line_style(cli_text *out, const plot_series *s) {
    text_add(out, " stroke=\"%s\"%s/>\n", colours[s->colour % COUNT(colours)],
             s->dashed ? " stroke-dasharray=\"5 4\"" : "");
}

static void put_axes(const frame *f) {
    char label[32];
    double right = f->x0 + f->width, bottom = f->y0 + FRAME;
    for (int power = (int)floor(f->low); power <= (int)f->high + 1; power++)
        for (int digit = 1; digit <= 9; digit++) {
            double value = digit * pow(10, power), y = place_y(f, value);
            if (log10(value) < f->low || log10(value) > f->high)
                continue;
            text_add(f->out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", f->x0, y, right,
                     y, digit == 1 ? "grid" : "fine");
            bool shown = digit == 1 || (f->high - f->low < 2.2 && (digit == 2 || digit == 5));
            snprintf(label, sizeof label, "%g", value);
            if (shown)
                put_text(f->out, f->x0 - 7, y + 4, " text-anchor=\"end\"", label);
        }
    double step = step_to(f->x_end);
    for (double x = 0; x <= f->x_end; x += step) {
        text_add(f->out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"grid\"/>\n", place_x(f, x),
                 f->y0, place_x(f, x), bottom);
        snprintf(label, sizeof label, "%g", x);
        put_text(f->out, place_x(f, x), bottom + 17, " text-anchor=\"middle\"", label);
    }
    put_text(f->out, f->x0 + f->width / 2, bottom + 38, " text-anchor=\"middle\"", f->plot->x);
    put_text(f->out, f->x0 - 7, f->y0 - 9, " text-anchor=\"end\"", "E_rms");
    put_text(f->out, f->x0 + f->width / 2, f->y0 - 9, " text-anchor=\"middle\" class=\"title\"", f->plot->title);
}

static void put_curves(const frame *f, size_t number) {
    text_add(f->out,
             "<clipPath id=\"clip%zu\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/></clipPath>\n"
             "<g clip-path=\"url(#clip%zu)\">\n",
             number, f->x0 - 4, f->y0, f->width + 8, FRAME, number);
    for (const plot_series *s = f->plot->series; s < f->plot->series + f->plot->count; s++) {
        text_add(f->out, "<polyline points=\"");
        for (size_t n = 0; n < s->count; n++)
            text_add(f->out, "%.1f,%.1f ", place_x(f, s->points[n][0]), place_y(f, s->points[n][1]));
        text_add(f->out, "\"");
        put_line_style(f->out, s);
        for (size_t n = 0; n < s->count; n++)
            put_mark(f->out, s, place_x(f, s->points[n][0]), place_y(f, s->points[n][1]));
    }
    text_add(f->out, "</g>\n");
}

static void put_legend(const frame *f) {
    for (size_t n = 0; n < f->plot->count; n++) {
        const plot_series *s = &f->plot->series[n];
        double x = f->x0 - LEFT + 14 + (double)(n % COLUMNS) * (WIDTH - 10) / COLUMNS;
        double y = f->y0 + FRAME + BOTTOM + LINE * (double)(n / COLUMNS);
        text_add(f->out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"", x, y, x + 22, y);
        put_line_style(f->out, s);
        put_mark(f->out, s, x + 11, y);
        put_text(f->out, x + 28, y + 4, " class=\"small\"", s->name);
    }
}

/* ---- The whole -------------------------------------------------------------------------------------------- */

static const char style[] =
    "<style>text{font:12px system-ui,sans-serif;fill:#1f2328}.title{font-size:14px;font-weight:600}"
    ".small{font-size:11px}polyline,line{fill:none;stroke-width:1.6}circle{stroke-width:1.6}"
    ".ground,.hollow{fill:#fff}.grid,.fine{stroke:#8c959f;stroke-width:1}.grid{stroke-opacity:.45}"
    ".fine{stroke-opacity:.18}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.ground,.hollow{fill:#0d1117}}"
    "</style>\n";

char *plot_svg(const char *title, const plot *plots, size_t count) {
    cli_text text = {0}, *out = &text;
    size_t lines = 0;
    for (size_t p = 0; p < count; p++) {
        size_t needed = (plots[p].count + COLUMNS - 1) / COLUMNS;
        lines = needed > lines ? needed : lines;
    }
    double width = WIDTH * (double)count, height = TOP + FRAME + BOTTOM + LINE * (double)lines;
    text_add(out,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n%s"
             "<rect width=\"100%%\" height=\"100%%\" class=\"ground\"/>\n",
             width, height, width, height, style);
    put_text(out, 14, 22, " class=\"title\"", title);
    for (size_t p = 0; p < count; p++) {
        frame f = {
            .out = out, .plot = &plots[p], .x0 = WIDTH * (double)p + LEFT, .y0 = TOP, .width = WIDTH - LEFT - RIGHT};
        find_ranges(&f);
        put_axes(&f);
        put_curves(&f, p);
        put_legend(&f);
    }
    text_add(out, "</svg>\n");
    return text.data;
}
