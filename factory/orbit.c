/* One orbit and one tangent vector along it, by the classical Runge-Kutta method with a fixed step, or by iteration.
   `rates` is written by measure.py from the formulas of systems.toml: v is a variable, d its part of the tangent vector. */
#include <math.h>

typedef struct { double v, d; } D;

#include "rates.h"

static void moved(const D *x, const D *k, double h, D *out) {
    for (int i = 0; i < SIZE; i++) { out[i].v = x[i].v + h * k[i].v; out[i].d = x[i].d + h * k[i].d; }
}

static void step(D *x, double t, double h, const double *p) {
    D a[SIZE], b[SIZE], c[SIZE], d[SIZE], y[SIZE];
    rates(x, t, p, a);
    if (DISCRETE) { for (int i = 0; i < SIZE; i++) x[i] = a[i]; return; }
    moved(x, a, h / 2, y); rates(y, t + h / 2, p, b);
    moved(x, b, h / 2, y); rates(y, t + h / 2, p, c);
    moved(x, c, h, y); rates(y, t + h, p, d);
    for (int i = 0; i < SIZE; i++) {
        x[i].v += h / 6 * (a[i].v + 2 * b[i].v + 2 * c[i].v + d[i].v);
        x[i].d += h / 6 * (a[i].d + 2 * b[i].d + 2 * c[i].d + d[i].d);
    }
}

/* Leaves out `skip` steps, then watches `keep`: growth gets the mean logarithmic growth per time in each half, low and
   high the range of each variable, peaks the maxima of one variable (for a map: all its values). Returns the number of
   peaks, or -1 where the orbit leaves every bound. */
int follow(const double *p, const double *start, double h, long skip, long keep, int watch,
           double *growth, double *low, double *high, double *peaks, int room) {
    D x[SIZE];
    int found = 0;
    double before = 0, last = 0;
    for (int i = 0; i < SIZE; i++) { x[i].v = start[i]; x[i].d = i ? 0.3 : 1; low[i] = INFINITY; high[i] = -INFINITY; }
    growth[0] = growth[1] = 0;
    for (long n = 0; n < skip + keep; n++) {
        step(x, n * h, h, p);
        double size = 0;
        for (int i = 0; i < SIZE; i++) {
            if (!(fabs(x[i].v) < 1e5)) return -1;
            size += x[i].d * x[i].d;
        }
        size = sqrt(size);
        if (size < 1e-200) { size = 1e-200; x[0].d = size; }
        for (int i = 0; i < SIZE; i++) x[i].d /= size;
        if (n < skip) continue;
        growth[n - skip >= keep / 2] += log(size);
        for (int i = 0; i < SIZE; i++) {
            if (x[i].v < low[i]) low[i] = x[i].v;
            if (x[i].v > high[i]) high[i] = x[i].v;
        }
        double now = x[watch].v;
        if (DISCRETE) { if (found < room) peaks[found++] = now; }
        else if (n > skip + 2 && last > before && last >= now && found < room) {
            double bend = before - 2 * last + now;
            peaks[found++] = bend < 0 ? last - (now - before) * (now - before) / (8 * bend) : last;
        }
        before = last; last = now;
    }
    for (int i = 0; i < 2; i++) growth[i] /= keep / 2 * h;
    return found;
}
