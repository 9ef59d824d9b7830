/* Orbits and displaced orbits by the embedded pair of Dormand and Prince, order 5(4); maps are iterated.
   N, COPIES and the right-hand side are put in front. The state is one orbit and COPIES displaced ones, one after
   the other; all take the same steps. */
#include <math.h>
#include <string.h>

#define ALL (N * (COPIES + 1))

static void rates(double t, const double *x, const double *p, double *d) {
    for (int c = 0; c <= COPIES; c++) rhs(t, x + c * N, x + c * N, p, d + c * N);
}

static const double A[7][6] = {
    {0}, {1.0 / 5}, {3.0 / 40, 9.0 / 40}, {44.0 / 45, -56.0 / 15, 32.0 / 9},
    {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
    {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
    {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84}};
static const double C[7] = {0, 0.2, 0.3, 0.8, 8.0 / 9, 1, 1};
static const double E[7] = {71.0 / 57600, 0, -71.0 / 16695, 71.0 / 1920, -17253.0 / 339200, 22.0 / 525, -1.0 / 40};

/* One stretch of time. 0: done; 1: left every bound; 2: no step is small enough, or there were too many. */
static int stretch(double *x, double *t, double end, double *h, double tol, const double *p, double bound, long *left) {
    double k[7][ALL], y[ALL];
    rates(*t, x, p, k[0]);
    while (*t < end) {
        if ((*left)-- <= 0) return 2;
        double step = *h, rest = end - *t;
        int last = step >= rest * (1 - 1e-12);
        if (last) step = rest;
        for (int i = 1; i < 7; i++) {
            for (int j = 0; j < ALL; j++) {
                double sum = 0;
                for (int l = 0; l < i; l++) sum += A[i][l] * k[l][j];
                y[j] = x[j] + step * sum;
            }
            rates(*t + C[i] * step, y, p, k[i]);
        }
        double worst = 0;
        for (int j = 0; j < ALL; j++) {
            double sum = 0, size = fmax(fabs(x[j]), fabs(y[j]));
            for (int l = 0; l < 7; l++) sum += E[l] * k[l][j];
            double wrong = fabs(step * sum) / (tol * (1e-2 + size));
            if (!(wrong <= worst)) worst = wrong;
        }
        if (!(worst < 1e300)) {
            *h = step * 0.1;
            if (*h < 1e-13) return 2;
            continue;
        }
        double next = step * fmin(5.0, fmax(0.2, 0.9 * pow(worst + 1e-12, -0.2)));
        if (worst > 1) {
            *h = next;
            if (*h < 1e-13 * fmax(1.0, fabs(*t))) return 2;
            continue;
        }
        *t = last ? end : *t + step;
        memcpy(x, y, sizeof y);
        memcpy(k[0], k[6], sizeof k[0]);
        if (!last || next > *h) *h = next;
        for (int j = 0; j < N; j++)
            if (!(fabs(x[j]) < bound)) return 1;
    }
    return 0;
}

/* Orthonormal displacements, one after the other; the logarithms of their lengths, in units of eps, go to `growth`. */
static void renew(double *x, double eps, double *growth) {
    double q[COPIES + 1][N];
    for (int c = 0; c < COPIES; c++) {
        for (int j = 0; j < N; j++) q[c][j] = (x[(c + 1) * N + j] - x[j]) / eps;
        for (int pass = 0; pass < 2; pass++)
            for (int b = 0; b < c; b++) {
                double dot = 0;
                for (int j = 0; j < N; j++) dot += q[b][j] * q[c][j];
                for (int j = 0; j < N; j++) q[c][j] -= dot * q[b][j];
            }
        double size = 0;
        for (int j = 0; j < N; j++) size += q[c][j] * q[c][j];
        size = sqrt(size);
        growth[c] = log(fmax(size, 1e-300));
        for (int j = 0; j < N; j++) {
            q[c][j] = size > 1e-250 ? q[c][j] / size : (j == c);
            x[(c + 1) * N + j] = x[j] + eps * q[c][j];
        }
    }
}

/* `count` intervals from x (N numbers, given and taken). States and growth of each interval go out; the number of whole
   intervals comes back, and in `status` why there are not more. */
long follow(double *x, double *t, const double *p, double interval, long count, double eps, double tol, double bound,
            long most, double *states, double *growth, int *status) {
    double all[ALL], h = interval / 8;
    memcpy(all, x, N * sizeof(double));
    for (int c = 0; c < COPIES; c++)
        for (int j = 0; j < N; j++) all[(c + 1) * N + j] = x[j] + (j == c ? eps : 0);
    double first = *t;
#ifdef MAP
    unsigned long long drawn = 20261116ULL;
#endif
    long done;
    *status = 0;
    for (done = 0; done < count; done++) {
#ifdef MAP
        double y[ALL];
        rates(*t, all, p, y);
        memcpy(all, y, sizeof y);
        *t += 1;
        /* A map that doubles shifts all digits out; the last one is therefore drawn, the same for all copies. */
        for (int j = 0; j < N; j++) {
            drawn = drawn * 6364136223846793005ULL + 1442695040888963407ULL;
            double shift = all[j] * ((double)(drawn >> 40) / 16777216.0 - 0.5) * 1e-14;
            for (int c = 0; c <= COPIES; c++) all[c * N + j] += shift;
        }
        for (int j = 0; j < N; j++)
            if (!(fabs(all[j]) < bound)) *status = 1;
#else
        *status = stretch(all, t, first + (done + 1) * interval, &h, tol, p, bound, &most);
#endif
        if (*status) break;
#ifdef TURN
        for (int j = 0; j < N; j++) {
            double turns = floor(all[j] / TURN) * TURN;
            for (int c = 0; c <= COPIES; c++) all[c * N + j] -= turns;
        }
#endif
        if (COPIES) renew(all, eps, growth + done * COPIES);
        if (states) memcpy(states + done * N, all, N * sizeof(double));
    }
    memcpy(x, all, N * sizeof(double));
    return done;
}
