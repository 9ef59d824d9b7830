/* The second method for delay equations: the predictor-corrector of Adams, Bashforth and Moulton, which needs the past at
 * grid points only, and exponents from displaced histories. Nothing is shared with delay.c but the right-hand side.
 *
 * Orbit o has its own row of values at the grid points of one delay and its own last slopes; orbits 2c + 1 and
 * 2c + 2 are displaced by +EPSILON and -EPSILON units along the same history.
 */
#include <stdlib.h>
enum { GOOD = 0, AWAY = 1, CAPPED = 2, BROKEN = 3 };
static const double EPSILON = 1e-6;

static double slope_at(double t, double now, double past, const double *q) {
    double z[2] = {now, past}, out;
    rate(t, z, q, &out);
    return out;
}

/* The displacements are made orthonormal as vectors of values, twice for rounding; slopes go with them. */
static void renew(double *x, double *f, int count, long points, double unit, double *logs) {
    const double width = 2.0 * EPSILON * unit;
    double *d = malloc(sizeof(double) * (size_t)(count * (points + 4)));
    if (d == 0) return;
    for (int c = 0; c < count; c++) {
        double *e = d + c * (points + 4), height = 0.0;
        for (long i = 0; i < points; i++) e[i] = (x[(2 * c + 1) * points + i] - x[(2 * c + 2) * points + i]) / width;
        for (int s = 0; s < 4; s++) e[points + s] = (f[(2 * c + 1) * 4 + s] - f[(2 * c + 2) * 4 + s]) / width;
        for (int pass = 0; pass < 2; pass++)
            for (int b = 0; b < c; b++) {
                const double *g = d + b * (points + 4);
                double dot = 0.0;
                for (long i = 0; i < points; i++) dot += g[i] * e[i];
                for (long i = 0; i < points + 4; i++) e[i] -= dot * g[i];
            }
        for (long i = 0; i < points; i++) height += e[i] * e[i];
        height = fmax(sqrt(height), 1e-150);
        logs[c] += log(height);
        for (long i = 0; i < points + 4; i++) e[i] /= height;
        for (long i = 0; i < points; i++) {
            x[(2 * c + 1) * points + i] = x[i] + 0.5 * width * e[i];
            x[(2 * c + 2) * points + i] = x[i] - 0.5 * width * e[i];
        }
        for (int s = 0; s < 4; s++) {
            f[(2 * c + 1) * 4 + s] = f[s] + 0.5 * width * e[points + s];
            f[(2 * c + 2) * 4 + s] = f[s] - 0.5 * width * e[points + s];
        }
    }
    free(d);
}

/* `history` as in delay.c: points values, then points slopes. */
int second_delay(const double *p, double *history, long points, double dt, double t, double interval, long rows,
                 long cap, int count, double unit, double *growth, double *states, double *extremes, long *steps,
                 long *finished) {
    const int orbits = 1 + 2 * count;
    double q[SETTLED], logs[count + 1], bound = 1.0, f[4 * orbits];
    double *x = malloc(sizeof(double) * (size_t)(orbits * points));
    long done = 0, oldest = 0, often = points > 10 ? points / 5 : 1, since = 0;
    int status = GOOD;
    if (x == 0) return BROKEN;
    settle(p, q);
    for (long i = 0; i < points; i++) {
        bound = fmax(bound, fabs(history[i]));
        x[i] = history[i];
        for (int c = 0; c < count; c++) {
            double shape = (c % 2 ? sin : cos)(2.0 * M_PI * ((c + 1) / 2) * (double)i / (double)points);
            x[(2 * c + 1) * points + i] = x[i] + EPSILON * unit * shape;
            x[(2 * c + 2) * points + i] = x[i] - EPSILON * unit * shape;
        }
    }
    bound *= 1e6;
    for (int i = 0; i < 4 * orbits; i++) f[i] = 0.0;
    for (int o = 0; o < orbits; o++)
        for (int s = 0; s < 3; s++) f[4 * o + s] = history[2 * points - 4 + s];
    for (int c = 0; c <= count; c++) logs[c] = 0.0;
    renew(x, f, count, points, unit, logs);
    extremes[0] = extremes[1] = history[points - 1];
    *finished = 0;
    for (long n = 0; n < rows && status == GOOD; n++) {
        long end = lround((double)(n + 1) * interval / dt);
        for (int c = 0; c < count; c++) logs[c] = 0.0;
        while (done < end && status == GOOD) {
            long now = oldest ? oldest - 1 : points - 1, next = oldest + 1 < points ? oldest + 1 : 0;
            double at = t + (double)(done + 1) * dt;
            if (done >= cap) {
                status = CAPPED;
                break;
            }
            for (int o = 0; o < orbits; o++) {
                double *line = x + o * points, *g = f + 4 * o, here = line[now], past = line[next];
                g[3] = slope_at(at - dt, here, line[oldest], q);
                double guess = here + dt / 24.0 * (55.0 * g[3] - 59.0 * g[2] + 37.0 * g[1] - 9.0 * g[0]);
                double ahead = slope_at(at, guess, past, q);
                line[oldest] = here + dt / 24.0 * (9.0 * ahead + 19.0 * g[3] - 5.0 * g[2] + g[1]);
                g[0] = g[1], g[1] = g[2], g[2] = g[3];
            }
            double reached = x[oldest];
            done++;
            oldest = next;
            if (reached != reached) status = BROKEN;
            if (fabs(reached) > bound) status = AWAY;
            extremes[0] = fmin(extremes[0], reached);
            extremes[1] = fmax(extremes[1], reached);
            if (count && status == GOOD && (++since >= often || done == end)) {
                renew(x, f, count, points, unit, logs);
                since = 0;
            }
        }
        if (status == GOOD) {
            for (int c = 0; c < count; c++) growth[n * count + c] = logs[c];
            states[n] = x[oldest ? oldest - 1 : points - 1];
            *finished = n + 1;
        }
    }
    for (long i = 0; i < points; i++) history[i] = x[(oldest + i) % points];
    for (long i = 0; i < points; i++) { /* slopes of the returned history, by differences of its values */
        long a = i ? i - 1 : 0, b = i + 1 < points ? i + 1 : points - 1;
        history[points + i] = (history[b] - history[a]) / (dt * (double)(b - a));
    }
    *steps = done;
    free(x);
    return status;
}
