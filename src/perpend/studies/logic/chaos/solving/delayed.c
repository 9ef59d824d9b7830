/* A delay equation of one variable, from a constant history: the classical method of Runge and Kutta with a whole number
   of steps in each delay; between its points the past is Hermite's cubic. COPIES displaced histories run beside it.
   N, COPIES and the right-hand side are put in front. */
#include <stdlib.h>
#include <string.h>

static double slope(double x, double past, const double *p) {
    double d;
    rhs(0, &x, &past, p, &d);
    return d;
}

/* One delay: from values and slopes (m + 1 each, one after the other) of the last one to those of the next. */
static void one_delay(const double *old, double *next, const double *p, double h, long m) {
    const double *was = old + m + 1;
    double x = next[0] = old[m];
    for (long i = 0; i < m; i++) {
        double middle = (old[i] + old[i + 1]) / 2 + h / 8 * (was[i] - was[i + 1]);
        double a = slope(x, old[i], p), b = slope(x + h / 2 * a, middle, p);
        double c = slope(x + h / 2 * b, middle, p), e = slope(x + h * c, old[i + 1], p);
        next[m + 1 + i] = a;
        next[i + 1] = x += h / 6 * (a + 2 * b + 2 * c + e);
    }
    next[2 * m + 1] = slope(x, old[m], p);
}

/* Orthonormal displacements of histories; the logarithms of their lengths, in units of eps, go to `growth`. */
static void renew(double **h, double eps, long m, double *growth) {
    long all = 2 * (m + 1);
    for (int c = 1; c <= COPIES; c++) {
        for (long i = 0; i < all; i++) h[c][i] = (h[c][i] - h[0][i]) / eps;
        for (int pass = 0; pass < 2; pass++)
            for (int b = 1; b < c; b++) {
                double dot = 0;
                for (long i = 0; i <= m; i++) dot += (h[b][i] - h[0][i]) / eps * h[c][i];
                dot /= m + 1;
                for (long i = 0; i < all; i++) h[c][i] -= dot * (h[b][i] - h[0][i]) / eps;
            }
        double size = 0;
        for (long i = 0; i <= m; i++) size += h[c][i] * h[c][i];
        size = sqrt(size / (m + 1));
        growth[c - 1] = log(fmax(size, 1e-300));
        for (long i = 0; i < all; i++) h[c][i] = h[0][i] + eps * h[c][i] / fmax(size, 1e-300);
    }
}

/* `skip` delays, then `count`: the values at m steps of each and the growth over each. In `status` 1 where it escaped. */
void delayed(double start, const double *p, double lag, long m, long skip, long count, double eps, double bound,
             double *values, double *growth, int *status) {
    double *room = malloc((COPIES + 1) * 4 * (m + 1) * sizeof(double)), *old[COPIES + 1], *next[COPIES + 1];
    double begun[COPIES + 1];
    for (int c = 0; c <= COPIES; c++) {
        old[c] = room + c * 4 * (m + 1);
        next[c] = old[c] + 2 * (m + 1);
    }
    for (long i = 0; i <= m; i++) {
        old[0][i] = start;
        old[0][m + 1 + i] = 0;
    }
    *status = 0;
    for (long k = 0; k < skip + count && !*status; k++) {
        int measured = k >= skip;
        if (k == skip) {
            for (int c = 1; c <= COPIES; c++)
                for (long i = 0; i <= m; i++) {
                    double turn = 3.141592653589793 * (c - 1) * i / m;
                    old[c][i] = old[0][i] + eps * cos(turn);
                    old[c][m + 1 + i] = old[0][m + 1 + i] - eps * sin(turn) * 3.141592653589793 * (c - 1) / lag;
                }
            renew(old, eps, m, begun);
        }
        for (int c = 0; c <= (measured ? COPIES : 0); c++) {
            one_delay(old[c], next[c], p, lag / m, m);
            double *last = old[c];
            old[c] = next[c];
            next[c] = last;
        }
        if (!(fabs(old[0][m]) < bound)) *status = 1;
        if (measured) {
            memcpy(values + (k - skip) * m, old[0] + 1, m * sizeof(double));
            renew(old, eps, m, growth + (k - skip) * COPIES);
        }
    }
    free(room);
}
